import { type WorkspaceId, workspaceIdSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { afterEnd, isTooMuch, type SandboxFate } from "./losses.js";

const [a, b] = ["a", "b"].map((id) => workspaceIdSchema.parse(id)) as [WorkspaceId, WorkspaceId];

function tooMuch(...ends: readonly (readonly [WorkspaceId, SandboxFate])[]): boolean {
  return isTooMuch(ends.reduce<readonly WorkspaceId[]>((row, [id, fate]) => afterEnd(row, id, fate), []));
}

describe("sandboxes lost by the platform", () => {
  it("three in a row of two workspaces are the host's doing", () => {
    expect(tooMuch([a, "lost"], [b, "lost"])).toBe(false);
    expect(tooMuch([a, "lost"], [b, "lost"], [a, "lost"])).toBe(true);
  });

  it("of one workspace alone are not, however many", () => {
    expect(tooMuch(...Array(50).fill([a, "lost"]))).toBe(false);
    expect(tooMuch(...Array(50).fill([a, "lost"]), [b, "lost"])).toBe(true);
  });

  it("are no row where one served its command between them", () => {
    expect(tooMuch([a, "lost"], [b, "lost"], [b, "well"], [a, "lost"])).toBe(false);
  });

  it("keep a bounded row", () => {
    const row = Array.from({ length: 1_000 }).reduce<readonly WorkspaceId[]>((kept) => afterEnd(kept, a, "lost"), []);

    expect(row.length).toBeLessThanOrEqual(100);
  });
});
