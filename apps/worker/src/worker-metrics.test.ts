import { readFileSync } from "node:fs";
import { createMetrics } from "@holdfast/chassis";
import { expect, test } from "vitest";
import { createWorkerMetrics } from "./worker-metrics.js";

test("docs/metrics.md lists exactly the metrics of this program, with their kinds", async () => {
  const page = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  const [, section = ""] = page.split("## Worker");
  const [table = ""] = section.split("## ");
  const documented = [...table.matchAll(/^\| `(holdfast_\w+)` +\| (\w+) +\|/gm)].map(
    ([, name, kind]) => `${name} ${kind}`,
  );

  const metrics = createMetrics();
  createWorkerMetrics(metrics);
  const text = await metrics.text();
  const real = [...text.matchAll(/^# TYPE (holdfast_\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);

  expect(documented.toSorted()).toEqual(real.toSorted());
});

test("every alarm of docs/operations.md is raised on a metric that a program has", () => {
  const read = (page: string) => readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
  const [, section = ""] = read("operations.md").split("## Alarms");
  const [table = ""] = section.split("\n## ");
  const alarms = [...table.matchAll(/^\| `(\w+)[^`]*`/gm)].map(([, name]) => name);
  const metrics = [...read("metrics.md").matchAll(/^\| `holdfast_(\w+)`/gm)].map(([, name]) => name);

  expect(alarms.length).toBeGreaterThan(5);
  expect(alarms.filter((name) => !metrics.includes(name) && name !== "ledger_up")).toEqual([]);
});
