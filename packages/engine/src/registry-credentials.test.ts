import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseCredentials, readCredentials, registryOf } from "./registry-credentials.js";

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const parse = (auths: object, registry: string) =>
  parseCredentials(JSON.stringify({ auths, credsStore: "x" }), registry);

describe("registryOf", () => {
  it.each([
    ["python:3.12-slim", "docker.io"],
    ["team/python:3", "docker.io"],
    ["r.example/team/python:3", "r.example"],
    ["localhost/python:3", "localhost"],
    [`127.0.0.1:5000/python@sha256:${"a".repeat(64)}`, "127.0.0.1:5000"],
  ])("of %s is %s", (reference, registry) => {
    expect(registryOf(reference)).toBe(registry);
  });
});

describe("parseCredentials", () => {
  it("takes each form that Docker writes, for the registry that is named and no other", () => {
    const auths = {
      "r.example": { auth: base64("u:p:q") },
      "https://hub.docker.io/v1/": { username: "hub", password: "secret" },
      "t.example": { auth: base64("x:y"), identitytoken: "token" },
    };

    const found = (registry: string) => parse(auths, registry);
    expect(found("r.example")).toMatchObject({ auth: { username: "u", password: "p:q", serveraddress: "r.example" } });
    expect(found("docker.io")).toMatchObject({ auth: { username: "hub", password: "secret" } });
    expect(found("t.example")).toEqual({
      kind: "read",
      auth: { identitytoken: "token", serveraddress: "t.example" },
    });
    expect(found("r.example.org")).toEqual({ kind: "read", auth: null });
  });

  it("finds no use in an entry without credentials, and in what is no JSON", () => {
    expect(parse({ "r.example": {} }, "r.example")).toMatchObject({ kind: "unusable" });
    expect(parse({ "r.example": { auth: base64("nobody") } }, "r.example")).toMatchObject({ kind: "unusable" });
    expect(parseCredentials("auths", "r.example")).toMatchObject({ kind: "unusable" });
  });
});

describe("the file of credentials", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-credentials-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    [0o600, "read"],
    [0o640, "read"],
    [0o604, "unusable"],
    [0o602, "unusable"],
  ])("of mode %o is %s", async (mode, kind) => {
    const file = join(folder, String(mode));
    writeFileSync(file, "{}");
    chmodSync(file, mode);

    expect((await readCredentials(file, "r.example")).kind).toBe(kind);
  });

  it("that is not there is unusable, and its path is not told", async () => {
    const reply = await readCredentials(join(folder, "absent"), "r.example");

    expect(reply).toEqual({ kind: "unusable", reason: "the file of registry credentials cannot be read" });
  });
});
