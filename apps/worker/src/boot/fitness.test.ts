import { type WorkspaceId, workspaceIdSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { createFitness, SANDBOXES_LOST } from "./fitness.js";

const TIMES = { every_ms: 3_600_000, retry_ms: 60_000, jitter: () => 1 };
const [a, b] = ["a", "b"].map((id) => workspaceIdSchema.parse(id)) as [WorkspaceId, WorkspaceId];

describe("the fitness of a host", () => {
  it("is proved at the start, then each hour, and each minute while it fails", () => {
    const fitness = createFitness(TIMES);
    expect(fitness.isDue(0)).toBe(true);

    fitness.judged([], 0);
    expect([fitness.isDue(3_599_999), fitness.isDue(3_600_000)]).toEqual([false, true]);
    fitness.judged(["memory"], 3_600_000);

    expect(fitness.failed).toEqual(["memory"]);
    expect([fitness.isDue(3_659_999), fitness.isDue(3_660_000)]).toEqual([false, true]);
  });

  it("is never proved, nor lost, where no proof is asked for", () => {
    const fitness = createFitness({ ...TIMES, every_ms: 0 });
    const ends = [a, b, a, b].map((id) => fitness.sandboxEnded(id, "lost", 0));

    expect([fitness.isDue(Number.MAX_VALUE), fitness.failed, ends.includes(true)]).toEqual([false, [], false]);
  });

  it("is lost with one sandbox too many, told once, and comes back by a proof alone", () => {
    const fitness = createFitness(TIMES);
    fitness.judged([], 0);

    expect([a, b, a, b].map((id) => fitness.sandboxEnded(id, "lost", 10))).toEqual([false, false, true, false]);
    expect(fitness.failed).toEqual([SANDBOXES_LOST]);
    fitness.sandboxEnded(a, "well", 20);
    expect(fitness.failed).toEqual([SANDBOXES_LOST]);
    expect([fitness.isDue(60_009), fitness.isDue(60_010)]).toEqual([false, true]);
    fitness.judged([], 60_010);

    expect(fitness.failed).toEqual([]);
    expect(fitness.sandboxEnded(a, "lost", 60_020)).toBe(false);
  });

  it("is asked for at once where what failed may have passed, and only then", () => {
    const fitness = createFitness(TIMES);
    fitness.judged([], 0);
    fitness.askAgain();
    expect(fitness.isDue(1)).toBe(false);

    fitness.judged(["disk_space"], 1);
    fitness.askAgain();

    expect(fitness.isDue(2)).toBe(true);
  });
});
