/** A delivery's way through admit: what the ledger answers decides what becomes of its job. */
import { monotonicMs } from "@holdfast/chassis";
import {
  compareFences,
  drawOwnerToken,
  drawSandboxId,
  type OwnerToken,
  type TaskName,
  type TaskRequest,
  TIMES,
} from "@holdfast/contract";
import type { AdmitReply, Grant } from "@holdfast/ledger";
import type { Disposition } from "@holdfast/queue";
import type { BootState } from "../boot/boot-state.js";
import { doubtEngine } from "../boot/engine-doubt.js";
import type { Source } from "../boot/gate.js";
import { followHost } from "../boot/host-draining.js";
import type { RunEntry } from "../boot/runs.js";
import { noteSandboxEnd } from "../duties/self-check.js";
import { claimWarm } from "../pool/warm-starts.js";
import { createOrders } from "../run/orders.js";
import { type Answer, passOn, startTaskRun } from "../run/task-run.js";
import { untilAnswered } from "../run/until-answered.js";

/** A job that was told `closed`, or met a call that failed, is tried again after this. */
const SOON_MS = 1_000;
/** A run of this boot that is not in memory is found by beats: its token is missing from two of them. */
const BUSY_MS = 3 * TIMES.beat_ms;

function dispositionOf(answer: Answer): Disposition {
  switch (answer.kind) {
    case "settled":
      return { kind: "complete", outcome: answer.outcome };
    case "requeued":
      return { kind: "stale" };
    case "abandoned":
      return { kind: "give_back" };
  }
}

function metersOfAnswer(boot: BootState, grant: Grant, answer: Answer, began_ms: number): void {
  if (answer.kind !== "settled") return;
  const { status, error } = answer.outcome;
  boot.metrics.tasks_total.add(1, { status, fault: error?.fault ?? "none" });
  boot.metrics.task_seconds.observe((monotonicMs() - began_ms) / 1_000);
  const fields = { status, error_code: error?.code ?? null, exit_code: answer.outcome.exit_code };
  boot.logger.info("task_settled", { ...idsOf(grant), ...fields, timing: answer.outcome.timing });
}

const idsOf = (grant: Grant) => ({
  workspace_id: grant.workspace_id,
  task_id: grant.task_id,
  sandbox_id: grant.sandbox_id,
  attempt: grant.attempt,
});

function countBeside(boot: BootState): void {
  boot.gate.setBeside(boot.runs.all().filter(({ answered, source }) => answered || source === "own").length);
}

function follow(boot: BootState, entry: RunEntry, began_ms: number): void {
  const { grant, run } = entry;
  const logger = boot.logger.child(idsOf(grant));
  let settled_ms = began_ms;
  run.answer
    .then(
      (answer) => metersOfAnswer(boot, grant, answer, began_ms),
      (error: unknown) => logger.error("run_failed", { error }),
    )
    .then(() => {
      settled_ms = monotonicMs();
      entry.answered = true;
      countBeside(boot);
    });
  run.released
    .then((released) => {
      if (!released) return logger.warn("release_left_to_recovery");
      boot.metrics.cleanup_seconds.observe((monotonicMs() - settled_ms) / 1_000);
      boot.tokens.drop(grant.owner_token);
    })
    .catch((error: unknown) => logger.error("release_failed", { error }))
    .finally(() => {
      boot.runs.remove(grant.owner_token);
      countBeside(boot);
    });
}

function begin(boot: BootState, grant: Grant, request: TaskRequest, source: Source): RunEntry {
  const granted_at_ms = monotonicMs();
  const orders = createOrders();
  const logger = boot.logger.child(idsOf(grant));
  logger.info("task_granted", { generation: grant.generation, delivery: grant.delivery, image: request.image });
  boot.metrics.queue_wait_seconds.observe(Math.max(0, grant.granted_at_ms - grant.accepted_at_ms) / 1_000);
  const run = startTaskRun(
    {
      tasks: boot.ledger.tasks,
      queue: boot.queue,
      engine: { create: boot.warm.pool.create, ping: () => boot.engine.ping() },
      claimWarm: (attempt, permission) => claimWarm(boot, attempt, permission),
      lease: boot.lease,
      metrics: boot.metrics,
      logger,
      given_up: boot.given_up,
      pokeBeat: () => boot.pokeBeat(),
      doubtEngine: () => doubtEngine(boot),
      sandboxEnded: (fate) => noteSandboxEnd(boot, grant.workspace_id, fate),
    },
    { grant, request, orders, granted_at_ms },
  );
  const entry = { grant, orders, run, source, answered: false };
  boot.runs.add(entry);
  countBeside(boot);
  follow(boot, entry, granted_at_ms);
  return entry;
}

type GrantedReply = Extract<AdmitReply, { kind: "granted" }>;

/** The grant may be an earlier one, with the token of that call, where this delivery was admitted before. */
function granted(boot: BootState, drawn: OwnerToken, reply: GrantedReply, source: Source): RunEntry {
  const { grant, request } = reply;
  if (grant.owner_token !== drawn) boot.tokens.drop(drawn);
  boot.tokens.hold(grant);
  const seen = boot.fence_seen;
  if (seen === null || compareFences(seen, grant.fence) < 0) boot.fence_seen = grant.fence;
  return boot.runs.get(grant.owner_token) ?? begin(boot, grant, request, source);
}

/** The same task fetched twice, since its job's lock was lost: the second hears what the first did. */
async function joined(boot: BootState, name: TaskName): Promise<Disposition> {
  const entry = boot.runs.ofTask(name);
  if (entry === undefined) return { kind: "park", sleep_ms: BUSY_MS };
  return dispositionOf(await entry.run.answer);
}

function askPoolToYield(boot: BootState): void {
  if (boot.warm.pool.room().memory_mb === 0) return;
  boot.warm.wanted_back = true;
  boot.pokePool();
}

async function denied(boot: BootState, name: TaskName, reply: Exclude<AdmitReply, GrantedReply>): Promise<Disposition> {
  switch (reply.kind) {
    case "done":
      void passOn(boot, reply.promotions);
      return { kind: "complete", outcome: reply.outcome };
    case "busy":
      return joined(boot, name);
    case "parked":
      boot.metrics.parks_total.add(1, { scope: reply.scope });
      if (reply.scope === "host") askPoolToYield(boot);
      void passOn(boot, reply.promotions);
      return { kind: "park", sleep_ms: TIMES.parked_sleep_ms, overslept: () => boot.ledger.tasks.look(name) };
    case "elsewhere":
      await passOn(boot, reply.promotions, reply.delivery);
      return { kind: "stale" };
    case "stale":
      return { kind: "stale" };
    case "draining":
      if (reply.whose === "host") followHost(boot, true);
      else boot.gate.close("draining");
      return { kind: "give_back" };
    case "closed":
      return { kind: "park", sleep_ms: SOON_MS };
    case "fenced":
      return { kind: "park", sleep_ms: SOON_MS };
  }
}

/** Admits one delivery and, where it is granted, runs it. Resolves when its job can be answered. */
export async function admitDelivery(
  boot: BootState,
  name: TaskName,
  delivery: number,
  source: Source,
): Promise<Disposition> {
  if (!boot.gate.isOpen || !boot.lease.mayAct()) {
    return boot.gate.isOpen ? { kind: "park", sleep_ms: SOON_MS } : { kind: "give_back" };
  }
  const [owner_token, sandbox_id] = [drawOwnerToken(), drawSandboxId()];
  boot.tokens.hold({ ...name, owner_token, sandbox_id });
  const call = { ...name, boot_id: boot.boot_id, host_id: boot.host_id, delivery, sandbox_id, owner_token };
  const reply = await untilAnswered(boot, { abandoned: false }, "admit", () => boot.ledger.tasks.admit(call));
  // Only a boot that may never act again gets no answer; whoever recovers it sees the delivery again.
  if (reply === null) return { kind: "give_back" };
  boot.metrics.admits_total.add(1, { answer: reply.kind });
  if (reply.kind === "granted") return dispositionOf(await granted(boot, owner_token, reply, source).run.answer);
  boot.tokens.drop(owner_token);
  return denied(boot, name, reply);
}
