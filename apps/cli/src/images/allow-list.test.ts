import { describe, expect, it } from "vitest";
import { CommandFault } from "../command-fault.js";
import { allowImage, type WantedImage } from "./allow-list.js";

const ID = `sha256:${"1".repeat(64)}`;
const OTHER = `sha256:${"2".repeat(64)}`;
const KEPT = { image: "kept:1", digest: null, requires: { programs: ["sh"] } };

const want = (image: string, more: Partial<WantedImage> = {}): WantedImage => ({
  ...{ image, digest: null, pull: false, programs: null, imports: null },
  ...more,
});

describe("allowImage", () => {
  it("adds an image pinned to what the engine holds, and leaves the others as they are written", () => {
    const wanted = want("tools:4", { programs: ["jq"], imports: ["json"] });

    expect(allowImage({ images: [KEPT] }, wanted, [ID, OTHER])).toEqual({
      kind: "added",
      digest: ID,
      list: {
        images: [KEPT, { image: "tools:4", digest: ID, requires: { programs: ["jq"], imports: ["json"] } }],
      },
    });
  });

  it("changes nothing when repeated, and only what is named when told more", () => {
    const { list } = allowImage({ images: [KEPT] }, want("tools:4", { programs: ["jq"] }), [ID]);
    const images = { images: [...list.images] as never };

    expect(allowImage(images, want("tools:4"), [ID])).toMatchObject({ kind: "same", digest: ID });
    expect(allowImage(images, want("tools:4"), [])).toMatchObject({ kind: "same", digest: ID });
    expect(allowImage(images, want("kept:1"), [ID])).toMatchObject({ kind: "same", digest: null });
    const more = allowImage(images, want("tools:4", { imports: ["ssl"] }), [ID]);
    expect(more).toMatchObject({ kind: "changed", digest: ID });
    expect(more.list.images[1]).toMatchObject({ requires: { programs: ["jq"], imports: ["ssl"] } });
  });

  it("lets an image be pulled that is named by its digest", () => {
    const { list } = allowImage({ images: [KEPT] }, want("kept:1", { digest: ID, pull: true }), []);

    expect(list.images).toEqual([{ ...KEPT, digest: ID, pull: true, requires: { programs: ["sh"], imports: [] } }]);
    expect(allowImage({ images: [...list.images] as never }, want("kept:1"), [])).toMatchObject({ kind: "same" });
  });

  it("moves a pin only where the new digest is named", () => {
    const images = { images: [{ image: "tools:4", digest: ID }] };

    expect(() => allowImage(images, want("tools:4"), [OTHER])).toThrow(`--digest ${OTHER}`);
    expect(allowImage(images, want("tools:4"), [OTHER, ID])).toMatchObject({ kind: "same", digest: ID });
    expect(allowImage(images, want("tools:4", { digest: OTHER }), [OTHER])).toMatchObject({ digest: OTHER });
  });

  it.each([
    [want("tools"), "tools: must carry a tag or a digest"],
    [want("tools:latest"), "tools:latest: must not be `latest`"],
    [want("Tools:1"), "must be an image reference"],
    [want("tools:1", { digest: "1" }), "tools:1: digest must be sha256:"],
    [want("kept:1", { pull: true }), "kept:1: pull needs a digest"],
    [want("tools:1", { programs: ["sh -c"] }), "requires.programs.0 must be a program's name"],
    [want("tools:1", { imports: ["os;x"] }), "requires.imports.0 must be a module name"],
  ])("refuses %j and names what is wrong", (wanted, message) => {
    expect(() => allowImage({ images: [KEPT] }, wanted, [ID])).toThrow(CommandFault);
    expect(() => allowImage({ images: [KEPT] }, wanted, [ID])).toThrow(message);
  });
});
