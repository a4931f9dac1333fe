import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, openBench } from "./cli-bench.js";

let bench: Bench;

beforeAll(async () => {
  buildPrograms();
  bench = openBench();
  await bench.up("--pool", "1", "--pool-key", "holdfast/shell:1:0.5:64m");
});

afterAll(() => bench.close());

/** Cells of the rows about pools. */
async function pools(): Promise<string[][]> {
  const text = (await bench.holdfast("hosts")).stdout.toString();
  const rows = text.split("\n").map((line) => line.split(/ {2,}/));
  return rows.slice(rows.findIndex(([first]) => first === "POOL OF HOST") + 1).filter(({ length }) => length > 1);
}

describe("holdfast up --pool", () => {
  it("keeps the default kind and what is pinned, runs tasks warm, and shows it (Q1)", async () => {
    const filled = async () => (await pools()).filter(([, , , , , ready]) => ready === "1/1").length === 2;
    await waitFor(filled, { bound_ms: 30_000, what: "two kinds wait" });

    const warm = await bench.holdfast("run", "--json", "--", "python3", "-c", "print(6*7)");
    const pinned = ["run", "--json", "--image", "holdfast/shell:1", "--cpu", "0.5", "--memory", "64", "--", "true"];
    const other = await bench.holdfast(...pinned);

    for (const { code, stdout } of [warm, other]) {
      expect(code).toBe(0);
      expect(stdout.toString()).toContain('"warm":true');
    }
    const counted = async () => (await pools()).map(([, image, , , , , hits]) => `${image} ${hits}`).sort();
    const expected = ["holdfast/python:3.11-1 1", "holdfast/shell:1 1"];
    const shown = async () => (await counted()).join() === expected.join();
    await waitFor(shown, { bound_ms: 10_000, what: "a hit of each kind is shown" });
  });

  it.each([
    [["--pool", "many"], "--pool many"],
    [["--pool-key", "holdfast/shell:1"], "IMAGE:CPU:MEMORY"],
  ])("refuses %j as bad usage, in one line", async (flags, told) => {
    for (const program of ["up", "worker"]) {
      const { code, stderr } = await bench.holdfast(program, ...flags);

      expect(code).toBe(2);
      expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
      expect(stderr).toContain(told);
    }
  });
});
