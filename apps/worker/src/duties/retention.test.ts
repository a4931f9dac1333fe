import { RETENTION_DEFAULTS } from "@holdfast/contract";
import type { RetainStep } from "@holdfast/ledger";
import { expect, test } from "vitest";
import { createRetaining, type RetentionDeps } from "./retention.js";

/** Workspaces by cursor, each with records that may go; a step takes 2 of them. */
function setup(over: Record<string, number>) {
  const cursors = Object.keys(over);
  const asked: string[] = [];
  const retain = async (cursor: string | null, dry_run = false): Promise<RetainStep> => {
    const at = cursor ?? "0";
    asked.push(at);
    const removed = dry_run ? 0 : Math.min(2, over[at] ?? 0);
    over[at] = (over[at] ?? 0) - removed;
    return { seen: 10, removed, left: over[at] ?? 0, cursor: cursors[cursors.indexOf(at) + 1] ?? null };
  };
  const retention = { settings: async () => RETENTION_DEFAULTS, set: async () => RETENTION_DEFAULTS, retain };
  const trimFinished = async (kept: number) => ({ removed: kept, left: 1 });
  const deps: RetentionDeps = { ledger: { retention }, queue: { trimFinished } };
  return { asked, retaining: createRetaining(deps) };
}

test("a pass steps through all workspaces, and again where a step had more to remove", async () => {
  const { asked, retaining } = setup({ "0": 3, "7": 0, "9": 1 });

  const counts = await retaining.pass();

  expect(asked).toEqual(["0", "0", "7", "9"]);
  expect(counts).toEqual({ records: 30, records_removed: 4, records_left: 0, jobs_removed: 1_000, jobs_left: 1 });
});

test("a dry run removes nothing and counts what may go", async () => {
  const { asked, retaining } = setup({ "0": 3, "7": 2 });

  const { records_removed, records_left } = await retaining.pass(true);

  expect([asked, records_removed, records_left]).toEqual([["0", "7"], 0, 5]);
});

test("a pass is bounded, and the next one goes on where it stopped", async () => {
  const { asked, retaining } = setup({ "0": 150, "7": 1 });

  expect((await retaining.pass()).records_removed).toBe(100);
  expect((await retaining.pass()).records_removed).toBe(51);

  expect(asked.at(-1)).toBe("7");
});
