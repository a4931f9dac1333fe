/** What status should say of a task, told from the model's records. */
import type { HostReason, TaskPhase } from "@holdfast/contract";
import { expect } from "vitest";
import type { LedgerFixture } from "./ledger-fixture.js";
import type { Model, ModelHost, ModelTask } from "./ledger-model.js";

/** How often each phase, place and reason was told, over all runs. */
export const told = new Map<string, number>();

function phaseOf(model: Model, task: ModelTask): TaskPhase {
  if (task.record !== null) return model.openOf(task).length > 0 ? "cleanup_pending" : "ended";
  if (task.status === "PENDING") {
    if (task.wait_scope !== null) return "parked";
    return task.route === null ? "queued" : "sent_to_boot";
  }
  if (task.current?.boot.state === "DEAD") return "recovering";
  return task.current?.active ? "running" : "creating";
}

function hostReasonOf(model: Model, task: ModelTask, host: ModelHost): HostReason {
  if (task.cpu_milli > host.cpu_milli) return "too_small";
  if (host.draining) return "draining";
  const standing = model.bootsOf(host).filter((boot) => model.leaseStands(boot));
  if (standing.length === 0) return "no_worker";
  if (standing.every((boot) => boot.state === "DRAINING")) return "draining";
  if (!standing.some((boot) => model.takesTasks(boot))) return "host_unfit";
  if (!host.healthy) return "engine_unavailable";
  const closed = model.opens_at_ms !== null && model.now_ms < model.opens_at_ms;
  if (closed || model.showsStrangers(host)) return "grants_closed";
  if (model.isFull(host, task)) return "full";
  return (model.overtaken(task, host) ?? "workspace") !== "workspace" ? "kept_for_older" : "room";
}

function scopeOf(model: Model, task: ModelTask, reasons: readonly HostReason[]) {
  const shared = task.wait_scope ?? model.deniedByShared(task);
  if (shared !== null) return shared;
  const open = model.hosts.filter((_, index) => reasons[index] === "room" || reasons[index] === "kept_for_older");
  if (open.some((host) => model.overtaken(task, host) === "workspace")) return "workspace";
  const kept = reasons.some((reason) => reason === "full" || reason === "kept_for_older");
  return kept && !reasons.includes("room") ? "host" : null;
}

function placeOf(model: Model, task: ModelTask) {
  if (task.wait_scope === null) return null;
  const list = task.wait_scope === "workspace" ? "workspace" : "fleet";
  return { list, place: model.olderIn(list, task).length + 1 };
}

export async function expectStatus(model: Model, f: LedgerFixture, task: ModelTask): Promise<void> {
  const phase = phaseOf(model, task);
  told.set(phase, (told.get(phase) ?? 0) + 1);
  const view = await f.ledger.tasks.status(task.name);
  expect(view).toMatchObject({ phase, status: task.status });
  const cleanup = task.status !== "RUNNING" && model.openOf(task).length > 0;
  expect(view?.cleanup_pending).toBe(cleanup);
  if (task.status !== "PENDING") return expect(view?.waiting).toBeNull();
  const reasons = model.hosts.map((host) => [host.host_id, hostReasonOf(model, task, host)] as const);
  const details = view?.waiting?.details;
  expect(Object.fromEntries((details?.hosts ?? []).map(({ host_id, reason }) => [host_id, reason]))).toEqual(
    Object.fromEntries(reasons),
  );
  const scope = scopeOf(
    model,
    task,
    reasons.map(([, reason]) => reason),
  );
  const place = placeOf(model, task);
  expect(details).toMatchObject({ scope, queue_timeout_at_ms: task.deadline_ms });
  expect(details?.place ?? null).toEqual(place && { ...place, of: expect.any(Number) });
  for (const [, reason] of reasons) told.set(reason, (told.get(reason) ?? 0) + 1);
  if (place !== null)
    told.set(`place ${Math.min(place.place, 2)}`, (told.get(`place ${Math.min(place.place, 2)}`) ?? 0) + 1);
}
