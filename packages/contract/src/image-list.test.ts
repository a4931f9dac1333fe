import { describe, expect, it } from "vitest";
import { imageListSchema, parseImageList, pinOf, repositoryOf } from "./image-list.js";

const one = (image: object) => ({ images: [image] });

describe("imageListSchema", () => {
  it("fills what may be left out", () => {
    expect(imageListSchema.parse(one({ image: "holdfast/empty:1" }))).toEqual({
      images: [
        {
          image: "holdfast/empty:1",
          digest: null,
          optional: false,
          pull: false,
          requires: { programs: [], imports: [] },
        },
      ],
    });
  });

  it.each([
    "holdfast/python:3.11-1",
    "python:3.12-slim",
    "registry.example:5000/team/python:1",
    `registry.example:5000/team/python@sha256:${"a".repeat(64)}`,
    `a/b:1@sha256:${"0".repeat(64)}`,
  ])("accepts %s", (image) => {
    expect(imageListSchema.safeParse(one({ image })).success).toBe(true);
  });

  it.each([
    ["no tag", "python"],
    ["no tag behind a port", "registry.example:5000/python"],
    ["latest", "python:latest"],
    ["latest behind a registry", "registry.example:5000/python:latest"],
    ["latest with a digest", `python:latest@sha256:${"a".repeat(64)}`],
    ["upper case", "Python:3"],
    ["a space", "python: 3"],
    ["a short digest", "python@sha256:abc"],
    ["an option", "--privileged:1"],
    ["empty", ""],
  ])("refuses a reference with %s", (_, image) => {
    expect(imageListSchema.safeParse(one({ image })).success).toBe(false);
  });

  it.each([
    ["an unknown key", one({ image: "a:1", digests: null })],
    ["a program with a space", one({ image: "a:1", requires: { programs: ["sh -c"] } })],
    ["a pull by tag", one({ image: "a:1", pull: true })],
    ["an import that is code", one({ image: "a:1", requires: { imports: ["os;x"] } })],
    ["a reference listed twice", { images: [{ image: "a:1" }, { image: "a:1" }] }],
    ["no image", { images: [] }],
  ])("refuses %s", (_, list) => {
    expect(imageListSchema.safeParse(list).success).toBe(false);
  });

  it.each([
    { image: "r:5000/a:1", digest: `sha256:${"a".repeat(64)}`, pull: true },
    { image: `r:5000/a@sha256:${"a".repeat(64)}`, pull: true },
  ])("lets $image be pulled by its digest", (image) => {
    const [entry] = imageListSchema.parse(one(image)).images;
    expect(entry && pinOf(entry)).toBe(`sha256:${"a".repeat(64)}`);
    expect(repositoryOf(image.image)).toBe("r:5000/a");
  });

  it("names the field at fault", () => {
    expect(() => parseImageList(JSON.stringify(one({ image: "a:latest" })))).toThrow(/images\.0\.image: .*latest/);
  });
});
