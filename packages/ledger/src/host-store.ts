/** Hosts in the ledger: what they offer, what is reserved there, and limits of every scope. */
import { type HostView, hostViewSchema, type SandboxView, type Slice, sandboxViewSchema } from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { imagesOf } from "./image-notes.js";
import { idPart } from "./keys.js";
import type { HostStore } from "./ledger.js";
import { listLimits, readLimits, setLimits } from "./limits.js";
import { amountOf, list, promotionsOf, type Reply, rowsOf, tagOf, text, texts, whole } from "./replies.js";

export function createHostStore(caller: Caller): HostStore {
  return {
    list: async () => list(await caller.run("host-list", [])).map(hostOf),
    sandboxes: async () => list(await caller.run("sandbox-list", [])).map(sandboxOf),
    setDraining: async (host_id, draining) => {
      const reply = list(await caller.run("host-drain", [idPart(host_id), draining ? 1 : 0]));
      const kind = tagOf(reply, ["done", "unknown"]);
      return kind === "done" ? { kind, promotions: promotionsOf(reply[1]) } : { kind };
    },
    setLimits: (scope, id, limits) => setLimits(caller, scope, id, limits),
    limitsOf: (scope, id) => readLimits(caller, scope, id),
    limits: (workspaces, cursor = null) => listLimits(caller, workspaces, cursor),
  };
}

function hostOf(reply: Reply): HostView {
  const [host, limits, reserved, healthy, draining, version, images, runtimes, boots, notes] = list(reply);
  const shown = rowsOf(boots, 8).map(([boot, state, left, held, memory_mb, pids, report, failed]) => ({
    boot_id: boot,
    state,
    lease_left_ms: whole(left),
    held: whole(held),
    slice: { memory_mb: whole(memory_mb), pids: whole(pids) },
    pool: report === "" ? [] : JSON.parse(text(report)),
    failed_checks: text(failed)
      .split(",")
      .filter((name) => name !== ""),
  }));
  const sliced = (key: keyof Slice) => shown.reduce((sum, { slice }) => sum + slice[key], 0);
  return hostViewSchema.parse({
    host_id: host,
    limits: amountOf(limits),
    reserved: amountOf(reserved),
    pool_reserved: { memory_mb: sliced("memory_mb"), pids: sliced("pids") },
    ...imagesOf(rowsOf(images, 2), rowsOf(notes, 2)),
    runtimes: texts(runtimes).toSorted(),
    engine_healthy: healthy === "1",
    draining: draining === "1",
    engine_version: version,
    boots: shown,
  });
}

function sandboxOf(reply: Reply): SandboxView {
  const [sandbox, workspace, task, host, boot, attempt, state, amount, assigned] = list(reply);
  return sandboxViewSchema.parse({
    sandbox_id: sandbox,
    workspace_id: workspace,
    task_id: task,
    host_id: host,
    boot_id: boot,
    attempt: whole(attempt),
    state,
    amount: amountOf(amount),
    assigned: assigned === "1",
    cleanup_pending: state === "draining",
  });
}
