/** A sandbox of our own, made for one use and proven gone afterwards, whatever that use came to. */
import { drawSandboxId, HoldfastError, type Resources, TIMES } from "@holdfast/contract";
import type { Engine, Purpose, Sandbox } from "./engine.js";

export interface SetUpPlace {
  readonly purpose: Exclude<Purpose, "task" | "pool">;
  readonly image: string;
  readonly runtime: string;
  readonly resources: Resources;
  readonly lifetime_seconds: number;
}

/** Rejects with HoldfastError where there is no sandbox, it is lost under `use`, or it cannot be removed. */
export async function inSetUpSandbox<T>(
  create: Engine["create"],
  place: SetUpPlace,
  use: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const reply = await create({ ...place, sandbox_id: drawSandboxId(), permission: () => TIMES.boot_lease_ms });
  if (reply.kind === "failed") {
    const { code, message, evidence } = reply.failure.error;
    throw new HoldfastError(code, { message, evidence });
  }
  const { sandbox } = reply;
  const used = await sandbox
    .assign({ lifetime_ms: place.lifetime_seconds * 1000 })
    .then(() => use(sandbox))
    .then(
      (value) => ({ kind: "used", value }) as const,
      (cause: unknown) => ({ kind: "lost", cause }) as const,
    );
  const { proven } = await sandbox.destroy();
  if (!proven) throw new HoldfastError("ENGINE_UNAVAILABLE", { message: "A sandbox could not be removed." });
  if (used.kind === "lost") throw new HoldfastError("SANDBOX_LOST", { cause: used.cause });
  return used.value;
}
