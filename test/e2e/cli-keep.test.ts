import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Bench, buildPrograms, openBench } from "./cli-bench.js";

let bench: Bench;
beforeAll(async () => {
  buildPrograms();
  bench = openBench();
  await bench.up("--slots", "2");
});
afterAll(() => bench.close());

describe("holdfast retention", () => {
  it("counts what would go, or removes it, and says what is kept (Q1)", async () => {
    await bench.holdfast("run", "--", "true");
    const counted = await bench.holdfast("retention", "--dry-run", "--json");
    const done = await bench.holdfast("retention");

    const report = JSON.parse(counted.stdout.toString()) as Record<string, unknown>;
    expect(report).toMatchObject({ dry_run: true, records_removed: 0, records_left: 0, settings: { jobs_max: 1_000 } });
    expect(report["records"]).toBeGreaterThan(0);
    expect(done.stdout.toString()).toMatch(/^records .* found, 0 removed\n/);
  });
});
