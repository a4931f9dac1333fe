/**
 * Takes tasks, capacity and routes from boots that are DEAD. Any worker does it for any boot, each step as often as it
 * takes: the ledger makes each conditional on the record's boot, generation and fence.
 */
import type { Duty } from "@holdfast/chassis";
import { type BootId, type SandboxId, type SandboxView, TIMES } from "@holdfast/contract";
import type { FoundSandbox } from "@holdfast/engine";
import type { Delivery, FreeRight, Promotion } from "@holdfast/ledger";
import type { DeadBoot } from "../recovery/boot-sights.js";
import { type RecoverySteps, stepsFor } from "../recovery/recovery-steps.js";
import { passOn } from "../run/task-run.js";
import type { Care } from "./care.js";
import { sweepOnce } from "./sweep.js";

const BATCH_MAX = 100;
/** In these states of its sandboxes nothing of a boot can run. */
const AT_REST = new Set(["created", "exited", "dead", "removing"]);

interface Proof {
  /** None of its sandboxes runs. */
  readonly quiet: boolean;
  /** Those with a reservation of which the engine has nothing any more. */
  readonly gone: readonly SandboxId[];
  /** Nothing at all of the boot is left there. */
  readonly all_gone: boolean;
}

interface Attended {
  readonly dead: DeadBoot;
  readonly steps: RecoverySteps;
}

/**
 * What the boot left in the engine tells which of its reservations stand for nothing. One that was never assigned a
 * sandbox may be served by any that its pool made.
 */
function proofOf(left: readonly FoundSandbox[], reserved: readonly SandboxView[]): Proof {
  const ids = new Set(left.map(({ sandbox_id }) => sandbox_id));
  const warm = left.some(({ purpose }) => purpose === "pool");
  const gone = reserved.filter(({ sandbox_id, assigned }) => !ids.has(sandbox_id) && (assigned || !warm));
  return {
    quiet: left.every(({ state }) => AT_REST.has(state)),
    gone: gone.map(({ sandbox_id }) => sandbox_id),
    all_gone: left.length === 0,
  };
}

/** Ends what they left in the engine, and asks it what is left after that. Empty where the engine cannot be asked. */
async function proveGone(care: Care, dead: readonly BootId[]): Promise<Map<BootId, Proof>> {
  if (dead.length === 0) return new Map();
  const reserved = await care.ledger.hosts.sandboxes();
  try {
    await sweepOnce(care);
    const found = await care.engine.list();
    const of = <Owned extends { boot_id: string }>(all: readonly Owned[], boot_id: BootId) =>
      all.filter((each) => each.boot_id === boot_id);
    return new Map(dead.map((boot_id) => [boot_id, proofOf(of(found, boot_id), of(reserved, boot_id))]));
  } catch (error) {
    care.logger.warn("death_not_proven", { error });
    return new Map();
  }
}

async function send(care: Care, deliveries: readonly Delivery[], promotions: readonly Promotion[]): Promise<void> {
  for (const delivery of deliveries) await passOn(care, [], delivery);
  await passOn(care, promotions);
}

async function recoverTasks(care: Care, dead_boot_id: BootId) {
  const [deliveries, promotions]: [Delivery[], Promotion[]] = [[], []];
  let settled = 0;
  for (let left = 1, moved = 1; left > 0 && moved > 0; ) {
    const reply = await care.ledger.boots.recover(dead_boot_id, BATCH_MAX);
    deliveries.push(...reply.requeued);
    promotions.push(...reply.promotions);
    settled += reply.settled.length;
    left = reply.left;
    moved = reply.requeued.length + reply.settled.length;
  }
  if (deliveries.length + settled > 0) {
    care.logger.warn("tasks_recovered", { dead_boot_id, requeued: deliveries.length, settled });
    care.metrics.tasks_recovered_total.add(deliveries.length, { became: "requeued" });
    care.metrics.tasks_recovered_total.add(settled, { became: "settled" });
  }
  return { deliveries, promotions };
}

async function freeCapacity(care: Care, dead: DeadBoot, right: FreeRight): Promise<readonly Promotion[]> {
  const { promotions, left, slice_freed } = await care.ledger.boots.free(dead.boot_id, right);
  const freed = Math.max(0, dead.reservations - left);
  if (freed > 0 || slice_freed) {
    care.logger.warn("capacity_freed", { dead_boot_id: dead.boot_id, right: right.kind, freed, left, slice_freed });
    care.metrics.reservations_freed_total.add(freed, { right: right.kind });
  }
  return promotions;
}

/** By the bound all of it; else what was proven, if anything was. */
function rightOf({ dead, steps }: Attended, proof: Proof | undefined): FreeRight | null {
  if (steps.free === "bound") return { kind: "bound" };
  if (steps.free === "no" || proof === undefined) return null;
  const { gone: sandbox_ids, all_gone } = proof;
  const frees = sandbox_ids.length > 0 || (all_gone && dead.holds_slice);
  return frees ? { kind: "proof", sandbox_ids, all_gone } : null;
}

async function tidyUp(care: Care, dead_boot_id: BootId): Promise<void> {
  for (let sent = BATCH_MAX; sent === BATCH_MAX; ) {
    const deliveries = await care.ledger.boots.reroute(dead_boot_id, BATCH_MAX);
    sent = deliveries.length;
    if (sent > 0) care.logger.warn("tasks_rerouted", { dead_boot_id, sent });
    await send(care, deliveries, []);
  }
  await care.queue.removeBootQueue(dead_boot_id);
}

async function attend(care: Care, attended: Attended, proof: Proof | undefined): Promise<void> {
  const { dead, steps } = attended;
  const mayRecover = steps.recover === "at_once" || (steps.recover === "when_quiet" && proof?.quiet === true);
  const recovered = mayRecover ? await recoverTasks(care, dead.boot_id) : { deliveries: [], promotions: [] };
  const right = rightOf(attended, proof);
  const freed = right === null ? [] : await freeCapacity(care, dead, right);
  await send(care, recovered.deliveries, [...recovered.promotions, ...freed]);
  if (steps.tidy) await tidyUp(care, dead.boot_id);
}

export function recoveryDuty(care: Care): Duty {
  let tidied = new Map<BootId, number>();

  function attended(now_ms: number): Attended[] {
    const { host_id, engine_healthy } = care;
    return care.sights.dead(now_ms).map((dead) => {
      const at_ms = tidied.get(dead.boot_id);
      const tidied_ms = at_ms === undefined ? null : now_ms - at_ms;
      return { dead, steps: stepsFor(dead, { host_id, engine_healthy, tidied_ms }) };
    });
  }

  return {
    name: "recovery",
    every_ms: TIMES.recovery_ms,
    back_off_periods_max: 2,
    runOnce: async () => {
      const now_ms = care.lease.now();
      const all = attended(now_ms);
      const holding = all.filter(({ dead }) => dead.reservations > 0 || dead.holds_slice).length;
      care.metrics.dead_boots_holding.set(holding);
      if (!care.lease.mayAct()) return {};
      const toProve = all.filter(({ steps }) => steps.prove).map(({ dead }) => dead.boot_id);
      const proofs = await proveGone(care, toProve);
      for (const each of all) {
        await attend(care, each, proofs.get(each.dead.boot_id));
        if (each.steps.tidy) tidied.set(each.dead.boot_id, now_ms);
      }
      const ids = new Set(all.map(({ dead }) => dead.boot_id));
      tidied = new Map([...tidied].filter(([boot_id]) => ids.has(boot_id)));
      return { dead: all.length, holding };
    },
  };
}
