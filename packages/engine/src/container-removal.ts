/** Ends containers and proves it: kill, look, remove, look. Gone already and being removed count as done (C2). */
import { monotonicMs, pause, until } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import {
  awaitStop,
  inspectContainer,
  killContainer,
  listContainers,
  removeContainer,
  unpauseContainer,
} from "./container-calls.js";
import { LABELS } from "./container-name.js";
import type { ContainerReceipt } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";

const POLL_MS = 100;
const BACK_OFF_MAX_MS = 5_000;

async function isGone(connection: EngineConnection, id: string): Promise<boolean> {
  const reply = await inspectContainer(connection, id);
  return reply.kind === "failed" && reply.failure.kind === "not_found";
}

type Removal = "removed" | "refused";

/** Null while another's removal goes on; one that was given up leaves the container in the state it had before. */
async function lookAtRemoval(connection: EngineConnection, id: string): Promise<Removal | null> {
  const reply = await inspectContainer(connection, id);
  if (reply.kind === "failed") return reply.failure.kind === "not_found" ? "removed" : null;
  return reply.value.at("State").text("Status") === "removing" ? null : "refused";
}

/** Gone already is removed; being removed by another is waited for. */
async function remove(connection: EngineConnection, id: string): Promise<Removal> {
  const reply = await removeContainer(connection, id);
  if (reply.kind === "ok" || reply.failure.kind === "not_found") return "removed";
  if (reply.failure.kind !== "being_removed") return "refused";
  let seen: Removal | null = null;
  const decided = async (): Promise<boolean> => {
    seen = await lookAtRemoval(connection, id);
    return seen !== null;
  };
  await until(decided, { every_ms: POLL_MS, within_ms: TIMES.engine_remove_ms });
  return seen ?? "refused";
}

/**
 * Kills and removes one container, once. No force: an engine refuses to remove what still runs, so that a removal is
 * proof of death. `kill_ms` and `remove_ms` are null where that step had nothing to do.
 */
async function killAndRemove(connection: EngineConnection, id: string, state: string): Promise<ContainerReceipt> {
  const began = monotonicMs();
  if (state === "paused") await unpauseContainer(connection, id);
  const killed = await killContainer(connection, id);
  const kill_ms = killed.kind === "ok" ? Math.round(monotonicMs() - began) : null;
  if (killed.kind === "failed" && killed.failure.kind === "not_found")
    return { proven: true, kill_ms, remove_ms: null };
  const removing = monotonicMs();
  if ((await remove(connection, id)) === "refused") return { proven: false, kill_ms, remove_ms: null };
  return { proven: true, kill_ms, remove_ms: Math.round(monotonicMs() - removing) };
}

/** An engine learns of an end a moment after the stream has told it. */
const STOP_MS = 3_000;

/** For one whose process 1 is thought to have ended: a kill would cost the engine a process of its own. */
async function removeEnded(connection: EngineConnection, id: string): Promise<ContainerReceipt> {
  const waiting = monotonicMs();
  const stopped = await awaitStop(connection, id, STOP_MS);
  const kill_ms = stopped.kind === "ok" ? Math.round(monotonicMs() - waiting) : null;
  const removing = monotonicMs();
  if ((await remove(connection, id)) === "refused") return killAndRemove(connection, id, "unknown");
  return { proven: true, kill_ms, remove_ms: Math.round(monotonicMs() - removing) };
}

/** The same with the engine's own word that it knows the container no more. */
export async function endContainer(connection: EngineConnection, id: string, state: string): Promise<ContainerReceipt> {
  const receipt = await killAndRemove(connection, id, state);
  return receipt.proven && !(await isGone(connection, id)) ? { ...receipt, proven: false } : receipt;
}

/** For one at rest that nobody here may kill: where it was started in the meantime, the engine refuses (L4). */
export async function removeAtRest(connection: EngineConnection, id: string): Promise<ContainerReceipt> {
  const removing = monotonicMs();
  const removed = (await remove(connection, id)) === "removed" && (await isGone(connection, id));
  return { proven: removed, kill_ms: null, remove_ms: removed ? Math.round(monotonicMs() - removing) : null };
}

function combine(receipts: readonly ContainerReceipt[]): ContainerReceipt {
  const longest = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  return {
    proven: receipts.every((receipt) => receipt.proven),
    kill_ms: longest(receipts.map((receipt) => receipt.kill_ms)),
    remove_ms: longest(receipts.map((receipt) => receipt.remove_ms)),
  };
}

export interface KnownContainer {
  readonly id: string;
  /** Its stream has ended, so it is removed without a kill; one that runs all the same is killed. */
  readonly ended: boolean;
}

/** Ends the one container of a sandbox whose first try made it: there can be no other. */
export function endOnlyContainer(connection: EngineConnection, known: KnownContainer): Promise<ContainerReceipt> {
  const { id, ended } = known;
  return ended ? removeEnded(connection, id) : killAndRemove(connection, id, "unknown");
}

/**
 * Ends every container of one sandbox, also of a creation try nobody had an answer from. Proven only where the engine
 * then lists none.
 */
export async function endSandboxContainers(
  connection: EngineConnection,
  sandboxId: string,
  known: KnownContainer | null,
): Promise<ContainerReceipt> {
  const first = known === null ? [] : [await endOnlyContainer(connection, known)];
  const listed = await listContainers(connection, [`${LABELS.sandbox}=${sandboxId}`]);
  if (listed.kind === "failed") return { ...combine(first), proven: false };
  if (listed.value.length === 0) return { ...combine(first), proven: true };
  const rest = await Promise.all(listed.value.map(({ id, state }) => endContainer(connection, id, state)));
  return { ...combine([...first, ...rest]), proven: rest.every(({ proven }) => proven) };
}

/** Tries until proven, ever more slowly; unproven only where `signal` was aborted first. */
export async function endUntilProven(
  attempt: () => Promise<ContainerReceipt>,
  signal: AbortSignal,
): Promise<ContainerReceipt> {
  for (let wait_ms = POLL_MS; ; wait_ms = Math.min(wait_ms * 2, BACK_OFF_MAX_MS)) {
    const receipt = await attempt();
    if (receipt.proven || signal.aborted) return receipt;
    await pause(wait_ms, signal);
  }
}
