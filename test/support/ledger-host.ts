/** A host as the ledger sees one: a boot that beats, of an engine that nobody here can ask. */
import { type BootId, drawBootId, drawHostId, drawOwnerToken, drawSandboxId, type HostId } from "@holdfast/contract";
import type { AdmitReply, Delivery, Ledger } from "@holdfast/ledger";

export interface LedgerHost {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  admit(delivery: Pick<Delivery, "workspace_id" | "task_id" | "delivery">): Promise<AdmitReply>;
  /** It beats no more. */
  die(): void;
}

const BEAT_MS = 1_000;

/** It offers what the first host of the fleet offers. End it by die() before the ledger is closed. */
export async function openLedgerHost(ledger: Ledger, memory_mb: number): Promise<LedgerHost> {
  const [host] = await ledger.hosts.list();
  const boot = { boot_id: drawBootId(), host_id: drawHostId() };
  const limits = { slots: 4, cpu_milli: 8_000, memory_mb, pids: 4_096 };
  const offers = { images: host?.images ?? [], runtimes: host?.runtimes ?? [] };
  const versions = { engine_version: "1", program_version: "1" };
  await ledger.boots.register({ ...boot, limits, default_limits: limits, ...offers, ...versions });
  let counter = 0;
  const beat = () => {
    counter += 1;
    return ledger.boots.beat({ ...boot, counter, held: [], fence_seen: null, engine_healthy: true });
  };
  await beat();
  const beating = setInterval(() => void beat().catch(() => undefined), BEAT_MS);
  return {
    ...boot,
    admit: (delivery) =>
      ledger.tasks.admit({ ...delivery, ...boot, sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() }),
    die: () => clearInterval(beating),
  };
}
