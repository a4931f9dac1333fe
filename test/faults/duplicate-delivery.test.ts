import { afterEach, expect, it } from "vitest";
import { type LabFleet, startLabFleet } from "./lab/fleet.js";
import { SHELL_IMAGE } from "./lab/image-archive.js";

let fleet: LabFleet | null = null;
afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

it("smoke", async () => {
  const t0 = performance.now();
  fleet = await startLabFleet({ engines: 1, workers: 2 });
  console.log("fleet up", performance.now() - t0);
  const task = await fleet.producer.submit({ image: SHELL_IMAGE, command: ["sh", "-c", "echo hi; sleep 1; echo ho"] });
  if (task === null) throw new Error("not accepted");
  const outcome = await fleet.producer.outcome(task, 20_000);
  console.log(outcome, performance.now() - t0);
  expect(outcome.status).toBe("SUCCEEDED");
  await fleet.finish();
  const { copyFileSync } = await import("node:fs"); copyFileSync(fleet.history.file, "/tmp/h.jsonl");
});
