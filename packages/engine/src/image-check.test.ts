import type { AllowedImage } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { judgeImage } from "./image-check.js";
import { reader } from "./json-reader.js";

const ID = `sha256:${"1".repeat(64)}`;
const DIGEST = `sha256:${"2".repeat(64)}`;
const OTHER = `sha256:${"3".repeat(64)}`;

const allowed = (image: string, digest: string | null = null): AllowedImage => ({
  image,
  digest,
  optional: false,
  pull: false,
  requires: { programs: [], imports: [] },
});

const details = (extra: object = {}) =>
  reader({ Id: ID, Os: "linux", RepoDigests: [], Config: { Volumes: null, Env: ["A=1"] }, ...extra });

describe("judgeImage", () => {
  it("names an image without a registry's digest by its content", () => {
    expect(judgeImage(allowed("local/x:1"), details())).toEqual({
      kind: "known",
      image: { image: "local/x:1", digest: ID, id: ID, environment: { A: "1" } },
    });
  });

  it("takes the registry's digest of the reference's own repository", () => {
    const RepoDigests = [`mirror/python@${OTHER}`, `registry.example:5000/python@${DIGEST}`];

    const look = judgeImage(allowed("registry.example:5000/python:3"), details({ RepoDigests }));

    expect(look).toMatchObject({ kind: "known", image: { digest: DIGEST, id: ID } });
  });

  it.each([ID, DIGEST])("takes a pin of the digest or of the content (%s)", (digest) => {
    const RepoDigests = [`python@${DIGEST}`];

    expect(judgeImage(allowed("python:3", digest), details({ RepoDigests })).kind).toBe("known");
  });

  it.each([
    ["another pinned digest", allowed("python:3", OTHER), {}, "pinned"],
    ["VOLUME", allowed("python:3"), { Config: { Volumes: { "/data": {} } } }, "VOLUME"],
    ["another system", allowed("python:3"), { Os: "windows" }, "Linux"],
    ["no content address", allowed("python:3"), { Id: "x" }, "content"],
  ])("refuses %s and says why", (_, entry, extra, reason) => {
    expect(judgeImage(entry, details(extra))).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining(reason),
    });
  });
});
