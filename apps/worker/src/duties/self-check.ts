/** The self-check: an unfit host takes no tasks, and comes back by itself once its limits are proved again. */
import type { Duty } from "@holdfast/chassis";
import type { WorkspaceId } from "@holdfast/contract";
import { type Check, failedNames, failing } from "@holdfast/engine";
import type { BootState } from "../boot/boot-state.js";
import { SANDBOXES_LOST } from "../boot/fitness.js";
import type { SandboxFate } from "../boot/losses.js";

type Judged = Pick<BootState, "fitness" | "gate" | "lease" | "logger" | "metrics" | "pokeBeat">;

/** Brings gate, metrics and beat in line with what is known of the host. */
export function followFitness(boot: Pick<Judged, "fitness" | "gate" | "metrics" | "pokeBeat">): void {
  const { failed } = boot.fitness;
  if (failed.length > 0) boot.gate.close("self_check");
  else boot.gate.open("self_check");
  boot.metrics.self_check_fit.set(failed.length === 0 ? 1 : 0);
  boot.pokeBeat();
}

/** Writes down what a self-check found. */
export function conclude(boot: Judged, checks: readonly Check[]): void {
  const [before, failed] = [boot.fitness.failed, failedNames(checks)];
  boot.fitness.judged(failed, boot.lease.now());
  for (const check of failed) boot.metrics.self_check_failures_total.add(1, { check });
  for (const { name, seen, remedy } of checks.filter(({ state }) => state === "failed")) {
    boot.logger.error("self_check_failed", { check: name, seen, remedy });
  }
  if (failed.length === 0 && before.length > 0) boot.logger.warn("host_fit_again", { after: before });
  followFitness(boot);
}

/** The end of a task's sandbox counts: three in a row lost by the platform are the host's doing. */
export function noteSandboxEnd(boot: Judged, workspace_id: WorkspaceId, fate: SandboxFate): void {
  if (!boot.fitness.sandboxEnded(workspace_id, fate, boot.lease.now())) return;
  boot.logger.error("sandboxes_lost_in_a_row");
  boot.metrics.self_check_failures_total.add(1, { check: SANDBOXES_LOST });
  followFitness(boot);
}

/** Null where the engine could not even be asked: that is another duty's to tell. */
async function check({ engine }: Pick<BootState, "engine">): Promise<readonly Check[] | null> {
  try {
    return await engine.selfCheck();
  } catch (error) {
    if (!(await engine.ping())) return null;
    const seen = error instanceof Error ? error.message : String(error);
    return [failing("sandbox", seen, "see the engine's log")];
  }
}

/** How often it is looked whether a check is due. */
const LOOK_MS = 1_000;

export function selfCheckDuty(boot: BootState): Duty {
  return {
    name: "self_check",
    every_ms: LOOK_MS,
    runOnce: async () => {
      if (!boot.engine_healthy || boot.lease.revoked || !boot.fitness.isDue(boot.lease.now())) return {};
      const checks = await check(boot);
      if (checks === null) return { unasked: 1 };
      conclude(boot, checks);
      return { checked: 1, failed: boot.fitness.failed.length };
    },
  };
}
