import { hostIdSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { type ImageHost, imageViews, type LocalImage } from "./image-views.js";

const ID = `sha256:${"1".repeat(64)}`;

function host(id: string, more: Partial<ImageHost>): ImageHost {
  return { host_id: hostIdSchema.parse(id), images: [], refused_images: [], boots: [{ state: "LIVE" }], ...more };
}

const local = (image: string, refusal: string | null): LocalImage => ({
  ...{ image, refusal, absent: refusal !== null },
  held: refusal === null ? [ID] : [],
});

const holds = { programs: { python3: "3.11.2", python: null, "/bin/sh": null }, imports: { numpy: "1.24.2" } };

describe("imageViews", () => {
  it("joins what hosts offer and refuse, by image, with languages from its programs", () => {
    const hosts = [
      host("host_a", { images: [{ image: "r:5000/a/b:1", digest: ID, holds }] }),
      host("host_b", { refused_images: [{ image: "r:5000/a/b:1", reason: "it lacks x", expected: false }] }),
    ];

    expect(imageViews(hosts, [local("r:5000/a/b:1", null)])).toEqual([
      {
        ...{ image: "r:5000/a/b:1", name: "r:5000/a/b", version: "1", digest: ID, packages: holds },
        languages: [
          { name: "python", version: "3.11.2" },
          { name: "sh", version: null },
        ],
        ...{ hosts: ["host_a"], refused: [{ host_id: "host_b", reason: "it lacks x" }] },
      },
    ]);
  });

  it("tells of what this machine alone knows, and what to do", () => {
    const views = imageViews([], [local("b:1", null), local(`a@${ID}`, "it is not in this engine")]);

    expect(views).toMatchObject([
      { image: `a@${ID}`, name: "a", version: ID, digest: null, refused: [{ reason: "it is not in this engine" }] },
      { image: "b:1", digest: ID, refused: [{ host_id: null, reason: expect.stringContaining("restart the worker") }] },
    ]);
  });

  it("counts no host whose workers are all dead", () => {
    const images = [{ image: "a:1", digest: ID }];

    expect(imageViews([host("host_a", { images, boots: [{ state: "DEAD" }] })], [])).toEqual([]);
    expect(
      imageViews([host("host_a", { images, boots: [{ state: "DEAD" }, { state: "DRAINING" }] })], []),
    ).toHaveLength(1);
  });
});
