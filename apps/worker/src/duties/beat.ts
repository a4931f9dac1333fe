/** The beat: renews the boot's lease for all it holds, and hears what the ledger thinks of it (design.md §3). */
import { type Duty, deadline } from "@holdfast/chassis";
import { type OwnerToken, TIMES } from "@holdfast/contract";
import type { BeatCall, BeatReply } from "@holdfast/ledger";
import type { BootState } from "../boot/boot-state.js";
import { followHost } from "../boot/host-draining.js";
import { passOn } from "../run/task-run.js";
import { untilAnswered } from "../run/until-answered.js";

type OkReply = Extract<BeatReply, { kind: "ok" }>;

/** An answer later than this is not waited for: the next beat is sent instead. */
const BEAT_DEADLINE_MS = TIMES.boot_lease_ms - TIMES.own_margin_ms;

/** What was seen longer ago tells nothing of the engine as it is. */
const STRANGE_FRESH_MS = 2 * TIMES.sweep_ms;

/** A token of this boot that the ledger holds and this worker does not: it is given back once nothing of it is left. */
async function giveUp(boot: BootState, owner_token: OwnerToken): Promise<void> {
  const drawn = boot.tokens.find(owner_token);
  if (drawn === null || boot.tokens.isHeld(owner_token)) return;
  const { workspace_id, task_id, sandbox_id } = drawn;
  const found = await boot.engine.list();
  // The sweep ends it, since nobody holds it; the next beat asks again.
  if (found.some((sandbox) => sandbox.sandbox_id === sandbox_id)) return boot.pokeSweep();
  const call = { workspace_id, task_id, owner_token, boot_id: boot.boot_id };
  const reply = await untilAnswered(boot, { abandoned: false }, "release", () => boot.ledger.tasks.release(call));
  if (reply === null) return;
  boot.logger.warn("missing_token_released", { workspace_id, task_id, requeued: reply.requeued !== null });
  await passOn(boot, reply.promotions, reply.requeued);
}

function obey(boot: BootState, reply: OkReply, heard: ReadonlySet<OwnerToken>): void {
  for (const owner_token of reply.cancelled) boot.runs.get(owner_token)?.orders.give({ kind: "cancel" });
  for (const owner_token of reply.unknown) {
    // A grant heard only after the beat was sent may be younger than the ledger's answer.
    if (heard.has(owner_token)) {
      boot.runs.get(owner_token)?.orders.give({ kind: "abandon", reason: "unknown_to_ledger" });
    }
  }
  if (reply.draining) boot.gate.close("draining");
  followHost(boot, reply.host_draining);
}

/** Each look at the engine is told once: the ledger takes two tellings for two looks. */
function newsOf(
  { strange }: BootState,
  told: BootState["strange"],
  now_ms: number,
): Pick<BeatCall, "strange_sandboxes"> {
  if (strange === null || strange === told || now_ms - strange.seen_at_ms > STRANGE_FRESH_MS) return {};
  return { strange_sandboxes: strange.sandboxes };
}

export function beatDuty(boot: BootState): Duty {
  let counter = 0;
  let silent = 0;
  let told: BootState["strange"] = null;
  const givingUp = new Set<OwnerToken>();

  /** Beside the beat, never within it: a call that waits for the lease must not hold up what renews it. */
  function giveUpBeside(missing: readonly OwnerToken[]): void {
    for (const owner_token of missing) {
      if (givingUp.has(owner_token)) continue;
      givingUp.add(owner_token);
      giveUp(boot, owner_token)
        .catch((error: unknown) => boot.logger.error("missing_token_kept", { error }))
        .finally(() => givingUp.delete(owner_token));
    }
  }

  function heardOk(reply: OkReply, sent_at_ms: number, heard: ReadonlySet<OwnerToken>): void {
    if (silent > 0) boot.logger.info("ledger_answers_again", { beats_missed: silent });
    silent = 0;
    boot.lease.renewed(sent_at_ms, reply.lease_ms);
    if (boot.lease.mayAct()) boot.gate.open("lease_ended");
    obey(boot, reply, heard);
  }

  function heardNothing(error: unknown): void {
    silent += 1;
    if (silent === 1) boot.logger.warn("beat_unanswered", { error });
    if (!boot.lease.mayAct()) boot.gate.close("lease_ended");
  }

  return {
    name: "beat",
    every_ms: TIMES.beat_ms,
    // A beat that comes later because others failed would end a lease that could be renewed.
    back_off_periods_max: 1,
    runOnce: async () => {
      counter += 1;
      const heard = new Set(boot.runs.all().map(({ grant }) => grant.owner_token));
      const held = boot.tokens.held();
      const sent_at_ms = boot.lease.now();
      const { boot_id, fence_seen, engine_healthy, strange } = boot;
      const failed_checks = boot.fitness.failed;
      const news = newsOf(boot, told, sent_at_ms);
      const call = boot.ledger.boots.beat({
        ...{ boot_id, counter, held, fence_seen, engine_healthy, failed_checks },
        ...news,
      });
      const late = (): never => {
        throw new Error("no answer in time");
      };
      const reply = await deadline(call, BEAT_DEADLINE_MS, late).catch((error: unknown) => {
        heardNothing(error);
        return null;
      });
      boot.metrics.lease_left_seconds.set(boot.lease.leftMs() / 1_000);
      if (reply === null) return { unanswered: 1 };
      if (reply.kind !== "ok") {
        boot.logger.error("boot_over", { reason: reply.kind });
        boot.lease.revoke();
        return { over: 1 };
      }
      told = strange;
      heardOk(reply, sent_at_ms, heard);
      giveUpBeside(reply.missing);
      const { cancelled, unknown, missing } = reply;
      return { held: held.length, cancelled: cancelled.length, unknown: unknown.length, missing: missing.length };
    },
  };
}
