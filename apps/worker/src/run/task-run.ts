/**
 * One attempt from grant to release: set-up, command, the ending's plan, settle or requeue, and the slot given back
 * only after the container is proven gone (C2, L2, T1).
 */
import { monotonicMs, pause } from "@holdfast/chassis";
import type { AppendBody, Outcome } from "@holdfast/contract";
import type { Sandbox } from "@holdfast/engine";
import type { Delivery, Promotion } from "@holdfast/ledger";
import type { TaskQueue } from "@holdfast/queue";
import type { CareMetrics } from "../care-metrics.js";
import { emptyOutput } from "../output/empty-output.js";
import type { Attempt, AttemptDeps } from "./attempt.js";
import { type CommandEnd, runCommand } from "./command.js";
import { beginCreation, type Creation } from "./creation.js";
import type { Ending } from "./endings.js";
import { type AttemptFacts, outcomeOf, type Reason } from "./outcome-of.js";
import { type Plan, planOf } from "./plan.js";
import { type SetUp, setUp } from "./set-up.js";
import { untilAnswered } from "./until-answered.js";

/** What became of the attempt, as the job that carried it is told. */
export type Answer =
  | { readonly kind: "settled"; readonly outcome: Outcome }
  | { readonly kind: "requeued" }
  | { readonly kind: "abandoned" };

export interface TaskRunDeps extends AttemptDeps {
  readonly queue: Pick<TaskQueue, "deliver" | "promote">;
  /** Aborted when the worker gives up on what is left: its process is about to end. */
  readonly given_up: AbortSignal;
}

export interface TaskRun {
  readonly answer: Promise<Answer>;
  /** True when the reservation was given back; false where it could not be any more. */
  readonly released: Promise<boolean>;
}

/** Wakes jobs and sends deliveries; what is lost here is found again by the duties. */
export async function passOn(
  deps: Pick<TaskRunDeps, "queue" | "logger"> & { readonly metrics: Pick<CareMetrics, "promotions_total"> },
  promotions: readonly Promotion[],
  delivery: Delivery | null = null,
): Promise<void> {
  try {
    if (delivery !== null) await deps.queue.deliver(delivery);
    if (promotions.length === 0) return;
    const woken = await deps.queue.promote(promotions);
    deps.metrics.promotions_total.add(woken, { woken_by: "event" });
  } catch (error) {
    deps.logger.warn("queue_call_left_to_duties", { error });
  }
}

interface Ended {
  readonly ending: Ending | { readonly kind: "refused"; readonly reason: Reason };
  readonly plan: Plan;
  readonly sandbox: Sandbox | null;
  readonly warm: boolean;
  readonly setup_ms: number | null;
  readonly command: CommandEnd | null;
}

async function sandboxOf(creation: Creation): Promise<Sandbox | null> {
  const created = await Promise.race([creation.reply, Promise.resolve(null)]);
  return created?.kind === "ready" ? created.sandbox : null;
}

async function endedInSetUp(result: Exclude<SetUp, { kind: "ready" }>, creation: Creation): Promise<Ended> {
  const sandbox = await sandboxOf(creation);
  const base = { sandbox, warm: creation.warm, setup_ms: null, command: null };
  switch (result.kind) {
    case "failed": {
      const reason: Reason = { kind: "refused", error: result.error };
      return { ...base, ending: { kind: "refused", reason }, plan: { kind: "settle", destroy_first: false } };
    }
    case "hand_back": {
      const plan: Plan = { kind: "requeue", reason: result.reason, counted: false, wait: "gone" };
      return { ...base, ending: { kind: "engine_lost", detail: result.reason }, plan };
    }
    case "ended":
      return { ...base, ending: result.ending, plan: planOf(result.ending, false) };
  }
}

async function runToEnd(deps: TaskRunDeps, attempt: Attempt, creation: Creation): Promise<Ended> {
  const result = await setUp(deps, attempt, creation);
  if (result.kind !== "ready") return endedInSetUp(result, creation);
  const { sandbox, sequence } = result;
  const setup_ms = Math.round(monotonicMs() - attempt.granted_at_ms);
  deps.metrics.setup_seconds.observe(setup_ms / 1_000);
  const command = await runCommand(deps, attempt, sandbox, sequence);
  return {
    ending: command.ending,
    plan: planOf(command.ending, true),
    sandbox,
    warm: creation.warm,
    setup_ms,
    command,
  };
}

function reasonOf(ended: Ended): Reason {
  const { ending, command } = ended;
  switch (ending.kind) {
    case "exit":
      return ending;
    case "refused":
      return ending.reason;
    case "cancel":
      return { kind: "cancelled", exit: command?.exit ?? null, tree: command?.tree ?? null };
    case "guest_lost":
      return { kind: "guest_lost", oom_killed: ending.oom_killed };
    default:
      return { kind: "time_limit" };
  }
}

function outcomeFor(attempt: Attempt, ended: Ended, proven_gone: boolean): Outcome {
  const kept = ended.command?.kept() ?? emptyOutput();
  const facts: AttemptFacts = {
    ...kept,
    grant: attempt.grant,
    request: attempt.request,
    sandbox: ended.sandbox,
    warm: ended.warm,
    ran: ended.command !== null,
    setup_ms: ended.setup_ms,
    run_ms: ended.command?.run_ms ?? null,
    total_ms: Math.round(monotonicMs() - attempt.granted_at_ms),
    proven_gone,
  };
  return outcomeOf(facts, reasonOf(ended));
}

async function settle(
  deps: TaskRunDeps,
  attempt: Attempt,
  outcome: Outcome,
  untold: readonly AppendBody[],
): Promise<Answer> {
  const call = () => deps.tasks.settle(attempt.grant, outcome, untold);
  const reply = await untilAnswered(deps, attempt.orders, "settle", call);
  if (reply === null || reply.kind === "fenced") return { kind: "abandoned" };
  void passOn(deps, reply.promotions);
  return { kind: "settled", outcome };
}

/** Hand-backs that say something about the engine. */
const ENGINE_FAILED: ReadonlySet<string> = new Set(["creation_failed", "set_up_failed", "engine_lost"]);

/** Hand-backs of a sandbox that the platform lost, or never had. */
const LOST: ReadonlySet<string> = new Set([...ENGINE_FAILED, "sandbox_lost"]);

type Requeue = Extract<Plan, { kind: "requeue" }>;

async function requeue(deps: TaskRunDeps, attempt: Attempt, plan: Requeue): Promise<Answer> {
  const call = () => deps.tasks.requeue(attempt.grant, plan.reason, plan.counted);
  const reply = await untilAnswered(deps, attempt.orders, "requeue", call);
  if (reply === null || reply.kind === "fenced") return { kind: "abandoned" };
  deps.metrics.requeued_total.add(1, { reason: plan.reason });
  deps.logger.warn("task_requeued", { reason: plan.reason, counted: plan.counted });
  await passOn(deps, reply.promotions, reply.kind === "requeued" ? reply.delivery : null);
  return reply.kind === "settled" ? { kind: "settled", outcome: reply.outcome } : { kind: "requeued" };
}

/** Without its engine a worker may hand back once the sandbox has died of its own permission, proof or not. */
async function waitFor(plan: Requeue, creation: Creation, gone: Promise<boolean>): Promise<void> {
  if (plan.wait === "gone") {
    await Promise.race([gone, creation.destroy()]);
    return;
  }
  const left_ms = creation.permission.endsAtMs() - monotonicMs();
  const over = new AbortController();
  await Promise.race([gone, pause(Math.max(0, left_ms), over.signal)]);
  over.abort();
}

async function carryOut(
  deps: TaskRunDeps,
  attempt: Attempt,
  ended: Ended,
  creation: Creation,
  beginRemoval: () => Promise<boolean>,
): Promise<Answer> {
  const { plan, command } = ended;
  switch (plan.kind) {
    case "abandon":
      command?.output.stop();
      deps.metrics.abandoned_total.add(1);
      deps.logger.warn("run_abandoned", { reason: plan.reason });
      return { kind: "abandoned" };
    case "requeue":
      if (ENGINE_FAILED.has(plan.reason)) deps.doubtEngine();
      if (LOST.has(plan.reason)) deps.sandboxEnded("lost");
      await waitFor(plan, creation, beginRemoval());
      await command?.output.close();
      return requeue(deps, attempt, plan);
    case "settle": {
      if (ended.command !== null) deps.sandboxEnded("well");
      // All that the task wrote is here: its sandbox goes while the ledger is told.
      void beginRemoval();
      const proven_gone = plan.destroy_first ? (await creation.destroy()).proven : false;
      const untold = (await command?.output.close()) ?? [];
      const answer = await settle(deps, attempt, outcomeFor(attempt, ended, proven_gone), untold);
      if (answer.kind === "settled" && command !== null) {
        deps.metrics.settle_seconds.observe((monotonicMs() - command.ended_ms) / 1_000);
      }
      return answer;
    }
  }
}

async function release(deps: TaskRunDeps, attempt: Attempt): Promise<boolean> {
  const reply = await untilAnswered(deps, { abandoned: false }, "release", () => deps.tasks.release(attempt.grant));
  if (reply === null) return false;
  await passOn(deps, reply.promotions, reply.requeued);
  return true;
}

export function startTaskRun(deps: TaskRunDeps, attempt: Attempt): TaskRun {
  const creation = beginCreation(deps, attempt);
  let removal: Promise<boolean> | null = null;
  const beginRemoval = (): Promise<boolean> => {
    removal ??= creation.gone(deps.given_up);
    return removal;
  };
  const answer = runToEnd(deps, attempt, creation).then((ended) =>
    carryOut(deps, attempt, ended, creation, beginRemoval),
  );
  const released = answer
    .catch(() => {})
    .then(beginRemoval)
    .then((gone) => (gone ? release(deps, attempt) : false));
  return { answer, released };
}
