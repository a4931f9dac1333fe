/** Ends containers and proves it: kill, look, remove, look. Gone already and being removed count as done (C2). */
import { monotonicMs, pause } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import {
  inspectContainer,
  killContainer,
  type ListedContainer,
  listContainers,
  removeContainer,
  unpauseContainer,
} from "./container-calls.js";
import { LABELS } from "./container-name.js";
import type { ContainerReceipt } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";

const POLL_MS = 100;
const BACK_OFF_MAX_MS = 5_000;

type Look = "running" | "stopped" | "gone" | "unknown";

async function look(connection: EngineConnection, id: string): Promise<Look> {
  const reply = await inspectContainer(connection, id);
  if (reply.kind === "failed") return reply.failure.kind === "not_found" ? "gone" : "unknown";
  const running = reply.value.at("State").flag("Running");
  return running === null ? "unknown" : running ? "running" : "stopped";
}

async function proveRemoved(connection: EngineConnection, id: string): Promise<boolean> {
  const reply = await removeContainer(connection, id);
  if (reply.kind === "failed" && reply.failure.kind === "not_found") return true;
  if (reply.kind === "failed" && reply.failure.kind !== "being_removed") return false;
  const end = monotonicMs() + (reply.kind === "ok" ? 0 : TIMES.engine_remove_ms);
  for (;;) {
    const seen = await look(connection, id);
    if (seen === "gone") return true;
    if (monotonicMs() >= end) return false;
    await pause(POLL_MS);
  }
}

/** One attempt to end one container. `kill_ms` and `remove_ms` are null where that step was not reached or needed. */
export async function endContainer(
  connection: EngineConnection,
  id: string,
  state: "paused" | "other" = "other",
): Promise<ContainerReceipt> {
  const began = monotonicMs();
  if (state === "paused") await unpauseContainer(connection, id);
  const killed = await killContainer(connection, id);
  if (killed.kind === "failed" && killed.failure.kind === "not_found") {
    return { proven: true, kill_ms: null, remove_ms: null };
  }
  const kill_ms = killed.kind === "ok" ? Math.round(monotonicMs() - began) : null;
  const seen = await look(connection, id);
  if (seen === "gone") return { proven: true, kill_ms, remove_ms: null };
  if (seen !== "stopped") return { proven: false, kill_ms: null, remove_ms: null };
  const removing = monotonicMs();
  const proven = await proveRemoved(connection, id);
  return { proven, kill_ms, remove_ms: proven ? Math.round(monotonicMs() - removing) : null };
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

/**
 * Ends every container of one sandbox, also of a creation try nobody had an answer from. Proven only where the engine
 * then lists none.
 */
export async function endSandboxContainers(
  connection: EngineConnection,
  sandboxId: string,
  known: string | null,
): Promise<ContainerReceipt> {
  const first = known === null ? [] : [await endContainer(connection, known)];
  const label = `${LABELS.sandbox}=${sandboxId}`;
  const listed = await listContainers(connection, [label]);
  if (listed.kind === "failed") return { ...combine(first), proven: false };
  if (listed.value.length === 0) return { ...combine(first), proven: true };
  const rest = await Promise.all(
    listed.value.map(({ id, state }: ListedContainer) =>
      endContainer(connection, id, state === "paused" ? "paused" : "other"),
    ),
  );
  return combine([...first.map((receipt) => ({ ...receipt, proven: true })), ...rest]);
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
