import { describe, expect, it } from "vitest";
import { errorIn, reasonIn } from "./image-pull.js";

describe("errorIn", () => {
  it.each([
    ['{"status":"Pulling"}\n{"status":"Done"}\n', null],
    ['{"status":"a"}\n{"errorDetail":{"message":"m"},"error":"e"}\n', "m"],
    ['{"error":"e"}', "e"],
    ['{"status":"a"}\n{"error', '{"error'],
    ["", null],
  ])("finds in %j the error %j", (text, error) => {
    expect(errorIn(text)).toBe(error);
  });

  it("reads an answer that was one line, or bytes", () => {
    expect(errorIn({ error: "e" })).toBe("e");
    expect(errorIn(Buffer.from('{"error":"e"}'))).toBe("e");
  });
});

describe("reasonIn", () => {
  it.each([
    ["Head http://r/v2/a/manifests/sha256:1: no basic auth credentials", "refuses our credentials"],
    ["pull access denied for a, repository does not exist", "refuses our credentials"],
    ["x509: certificate signed by unknown authority", "no TLS that the engine trusts"],
    ["manifest for r/a@sha256:1 not found: manifest unknown", "nothing under that digest"],
    ["dial tcp 127.0.0.1:1: connect: connection refused", "cannot be reached"],
    ["dial tcp: lookup r.invalid: no such host", "cannot be reached"],
    ["user:secret went wrong", "did not give it"],
  ])("of %j is one of ours", (text, reason) => {
    expect(reasonIn(text)).toContain(reason);
  });
});
