/**
 * Takes tasks, capacity and routes from boots that are DEAD. Any worker does it for any boot, each step as often as it
 * takes: the ledger makes each conditional on the record's boot, generation and fence.
 */
import type { Duty } from "@holdfast/chassis";
import { type BootId, type SandboxId, TIMES } from "@holdfast/contract";
import type { Delivery, FreeRight, Promotion } from "@holdfast/ledger";
import type { BootState } from "../boot/boot-state.js";
import type { DeadBoot } from "../recovery/boot-sights.js";
import { type RecoverySteps, stepsFor } from "../recovery/recovery-steps.js";
import { passOn } from "../run/task-run.js";
import { sweepOnce } from "./sweep.js";

const BATCH_MAX = 100;
/** In these states of its sandboxes nothing of a boot can run. */
const AT_REST = new Set(["created", "exited", "dead", "removing"]);

interface Proof {
  /** None of its sandboxes runs. */
  readonly quiet: boolean;
  /** Those with a reservation that the engine does not know any more. */
  readonly gone: readonly SandboxId[];
}

interface Attended {
  readonly dead: DeadBoot;
  readonly steps: RecoverySteps;
}

/** Ends what they left in the engine, and asks it what is left after that. Empty where the engine cannot be asked. */
async function proveGone(boot: BootState, dead: readonly BootId[]): Promise<Map<BootId, Proof>> {
  if (dead.length === 0) return new Map();
  const reserved = await boot.ledger.hosts.sandboxes();
  try {
    await sweepOnce(boot);
    const found = await boot.engine.list();
    const proofs = dead.map((boot_id): [BootId, Proof] => {
      const left = found.filter((sandbox) => sandbox.boot_id === boot_id);
      const ids = new Set(left.map(({ sandbox_id }) => sandbox_id));
      const mine = reserved.filter((sandbox) => sandbox.boot_id === boot_id && !ids.has(sandbox.sandbox_id));
      const quiet = left.every(({ state }) => AT_REST.has(state));
      return [boot_id, { quiet, gone: mine.map(({ sandbox_id }) => sandbox_id) }];
    });
    return new Map(proofs);
  } catch (error) {
    boot.logger.warn("death_not_proven", { error });
    return new Map();
  }
}

async function send(boot: BootState, deliveries: readonly Delivery[], promotions: readonly Promotion[]): Promise<void> {
  for (const delivery of deliveries) await passOn(boot, [], delivery);
  await passOn(boot, promotions);
}

async function recoverTasks(boot: BootState, dead_boot_id: BootId) {
  const [deliveries, promotions]: [Delivery[], Promotion[]] = [[], []];
  let settled = 0;
  for (let left = 1, moved = 1; left > 0 && moved > 0; ) {
    const reply = await boot.ledger.boots.recover(dead_boot_id, BATCH_MAX);
    deliveries.push(...reply.requeued);
    promotions.push(...reply.promotions);
    settled += reply.settled.length;
    left = reply.left;
    moved = reply.requeued.length + reply.settled.length;
  }
  if (deliveries.length + settled > 0) {
    boot.logger.warn("tasks_recovered", { dead_boot_id, requeued: deliveries.length, settled });
    boot.metrics.tasks_recovered_total.add(deliveries.length, { became: "requeued" });
    boot.metrics.tasks_recovered_total.add(settled, { became: "settled" });
  }
  return { deliveries, promotions };
}

async function freeCapacity(boot: BootState, dead: DeadBoot, right: FreeRight): Promise<readonly Promotion[]> {
  const { promotions, left } = await boot.ledger.boots.free(dead.boot_id, right);
  const freed = Math.max(0, dead.reservations - left);
  if (freed > 0) {
    boot.logger.warn("capacity_freed", { dead_boot_id: dead.boot_id, right: right.kind, freed, left });
    boot.metrics.reservations_freed_total.add(freed, { right: right.kind });
  }
  return promotions;
}

/** By the bound all of it; else what was proven, if anything was. */
function rightOf({ free }: RecoverySteps, proof: Proof | undefined): FreeRight | null {
  if (free === "bound") return { kind: "bound" };
  const sandbox_ids = proof?.gone ?? [];
  return free === "proof" && sandbox_ids.length > 0 ? { kind: "proof", sandbox_ids } : null;
}

async function tidyUp(boot: BootState, dead_boot_id: BootId): Promise<void> {
  for (let sent = BATCH_MAX; sent === BATCH_MAX; ) {
    const deliveries = await boot.ledger.boots.reroute(dead_boot_id, BATCH_MAX);
    sent = deliveries.length;
    if (sent > 0) boot.logger.warn("tasks_rerouted", { dead_boot_id, sent });
    await send(boot, deliveries, []);
  }
  await boot.queue.removeBootQueue(dead_boot_id);
}

async function attend(boot: BootState, { dead, steps }: Attended, proof: Proof | undefined): Promise<void> {
  const mayRecover = steps.recover === "at_once" || (steps.recover === "when_quiet" && proof?.quiet === true);
  const recovered = mayRecover ? await recoverTasks(boot, dead.boot_id) : { deliveries: [], promotions: [] };
  const right = rightOf(steps, proof);
  const freed = right === null ? [] : await freeCapacity(boot, dead, right);
  await send(boot, recovered.deliveries, [...recovered.promotions, ...freed]);
  if (steps.tidy) await tidyUp(boot, dead.boot_id);
}

export function recoveryDuty(boot: BootState): Duty {
  let tidied = new Map<BootId, number>();

  function attended(now_ms: number): Attended[] {
    const { host_id, engine_healthy } = boot;
    return boot.sights.dead(now_ms).map((dead) => {
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
      const now_ms = boot.lease.now();
      const all = attended(now_ms);
      const holding = all.filter(({ dead }) => dead.reservations > 0).length;
      boot.metrics.dead_boots_holding.set(holding);
      if (!boot.lease.mayAct()) return {};
      const toProve = all.filter(({ steps }) => steps.prove).map(({ dead }) => dead.boot_id);
      const proofs = await proveGone(boot, toProve);
      for (const each of all) {
        await attend(boot, each, proofs.get(each.dead.boot_id));
        if (each.steps.tidy) tidied.set(each.dead.boot_id, now_ms);
      }
      const ids = new Set(all.map(({ dead }) => dead.boot_id));
      tidied = new Map([...tidied].filter(([boot_id]) => ids.has(boot_id)));
      return { dead: all.length, holding };
    },
  };
}
