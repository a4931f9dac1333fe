import { expect, test } from "vitest";
import { createMetrics } from "./metrics.js";

test("two registries share nothing, and a name asked for twice is one metric", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  const options = { name: "holdfast_tasks_total", help: "Tasks.", labels: ["status"] };

  one.counter(options).add(1, { status: "SUCCEEDED" });
  one.counter(options).add(2, { status: "SUCCEEDED" });
  other.counter(options);

  expect(await one.text()).toContain('holdfast_tasks_total{status="SUCCEEDED"} 3');
  expect(await other.text()).not.toContain("SUCCEEDED");
});

test("a gauge that is read is fresh at each collection", async () => {
  const metrics = createMetrics();
  const gauge = metrics.gauge({ name: "holdfast_slots", help: "Slots." });
  let slots = 1;
  metrics.onCollect(() => gauge.set(slots));

  expect(await metrics.text()).toContain("holdfast_slots 1");
  slots = 2;
  expect(await metrics.text()).toContain("holdfast_slots 2");
});
