/** What may befall a worker, its line or its host in a schedule. */
import { pause } from "@holdfast/chassis";
import { dropReply, holdReply, holdRequest } from "../lab/proxy.js";
import type { HuntFleet, HuntWorker } from "./fleet.js";
import type { HuntHost } from "./host.js";
import type { Step } from "./schedule.js";
import { beside, type Stage } from "./stage.js";

/** A point that a worker does not come by within this was not there to be hit. */
const POINT_BOUND_MS = 3_000;

async function crashAt(fleet: HuntFleet, worker: HuntWorker, step: Extract<Step, { kind: "crash_at" }>): Promise<void> {
  const { script, nth, side } = step;
  const rule = worker.line.on({ script, nth }, side === "request" ? holdRequest() : holdReply());
  const reached = await rule.reached(POINT_BOUND_MS).catch(() => null);
  rule.remove();
  if (reached !== null && worker.health === "up") await fleet.crash(worker);
  rule.release();
}

async function stall(worker: HuntWorker, ms: number): Promise<void> {
  worker.health = "stalled";
  await worker.line.set({ kind: "stall" });
  await pause(ms);
  await worker.line.set({ kind: "pass" });
  worker.health = "up";
}

export async function sicken(host: HuntHost, ms: number): Promise<void> {
  host.sick = true;
  await pause(ms);
  host.sick = false;
}

export async function befall(stage: Stage, worker: HuntWorker, step: Step): Promise<void> {
  const { fleet } = stage;
  switch (step.kind) {
    case "stop":
      return beside(stage, fleet.stop(worker));
    case "crash":
      return fleet.crash(worker);
    case "crash_at":
      return beside(stage, crashAt(fleet, worker, step));
    case "lose_reply":
      worker.line.on({ script: step.script, nth: step.nth }, dropReply());
      return;
    case "reset":
      return worker.line.reset();
    case "stall":
      return beside(stage, stall(worker, step.ms));
  }
}
