/** From a grant to a sandbox that is assigned, filled and recorded in the ledger before the first user byte (E3). */
import { deadline } from "@holdfast/chassis";
import { type TaskError, taskError } from "@holdfast/contract";
import type { Sandbox } from "@holdfast/engine";
import type { Attempt, AttemptDeps } from "./attempt.js";
import { assignedSeconds, type Creation } from "./creation.js";
import { type Ending, watchEndings } from "./endings.js";
import { untilAnswered } from "./until-answered.js";

export type SetUp =
  /** `sequence` is that of task_started. */
  | { readonly kind: "ready"; readonly sandbox: Sandbox; readonly sequence: number }
  /** The caller's mistake or too small a request: settled, not tried again. */
  | { readonly kind: "failed"; readonly error: TaskError; readonly sandbox: Sandbox | null }
  /** The engine could not: the attempt goes back and does not count. */
  | { readonly kind: "hand_back"; readonly reason: string }
  | { readonly kind: "ended"; readonly ending: Ending };

/** How long after a failed question its sandbox may take to be known as ended. */
const ENDING_DEADLINE_MS = 5_000;

type Refusal = Exclude<SetUp, { kind: "ready" }>;

const abandoned = (reason: string): Refusal => ({ kind: "ended", ending: { kind: "abandon", reason } });

/** The lease is looked at before each step: a worker past it starts nothing (L3). */
function mayGoOn(deps: AttemptDeps): Refusal | null {
  return deps.lease.mayAct() ? null : { kind: "hand_back", reason: "lease_lost" };
}

async function writeFiles(sandbox: Sandbox, attempt: Attempt): Promise<Refusal | null> {
  for (const file of attempt.request.files) {
    const content = Buffer.from(file.content, file.encoding === "base64" ? "base64" : "utf8");
    const reply = await sandbox.writeFile({ path: file.path, mode: Number.parseInt(file.mode, 8), content });
    if (reply.kind === "written") continue;
    const details = { path: file.path, errno: reply.errno };
    const error =
      reply.errno === "ENOSPC"
        ? taskError("DISK_FULL", {
            message: `The input file ${file.path} does not fit into disk_mb.`,
            evidence: details,
          })
        : taskError("FILE_NOT_WRITABLE", {
            message: `The input file ${file.path} cannot be written (${reply.errno}).`,
            evidence: details,
          });
    return { kind: "failed", error, sandbox };
  }
  return null;
}

async function activate(deps: AttemptDeps, attempt: Attempt, sandbox: Sandbox): Promise<SetUp> {
  const call = () => deps.tasks.activate(attempt.grant, sandbox.sandbox_id);
  const reply = await untilAnswered(deps, attempt.orders, "activate", call);
  if (reply === null) return abandoned("lease_over");
  switch (reply.kind) {
    case "active":
      return { kind: "ready", sandbox, sequence: reply.sequence };
    case "fenced":
      return abandoned("fenced");
    case "cancelled":
      return { kind: "ended", ending: { kind: "cancel" } };
  }
}

async function prepare(deps: AttemptDeps, attempt: Attempt, sandbox: Sandbox): Promise<SetUp> {
  await sandbox.assign({ lifetime_ms: assignedSeconds(attempt.request.timeout_seconds) * 1_000 });
  return (await writeFiles(sandbox, attempt)) ?? mayGoOn(deps) ?? activate(deps, attempt, sandbox);
}

/** Races what may end the run against each step, so that a cancel never waits for a slow engine. */
export async function setUp(deps: AttemptDeps, attempt: Attempt, creation: Creation): Promise<SetUp> {
  const early = mayGoOn(deps);
  if (early !== null) return early;
  const ordered = attempt.orders.first.then((order) => ({ kind: "ordered", order }) as const);
  const created = await Promise.race([creation.reply, ordered]);
  if (created.kind === "ordered") return { kind: "ended", ending: created.order };
  if (created.kind === "failed") {
    const { error, hand_back } = created.failure;
    return hand_back ? { kind: "hand_back", reason: "creation_failed" } : { kind: "failed", error, sandbox: null };
  }
  const { sandbox } = created;
  const late = mayGoOn(deps);
  if (late !== null) return late;
  const watch = watchEndings({
    exited: null,
    sandbox_ended: sandbox.ended,
    orders: attempt.orders,
    fenced: new Promise(() => {}),
    lease: deps.lease,
    limit_ms: null,
    engineAnswers: () => deps.engine.ping(),
  });
  const ending = watch.first.then((end): SetUp => ({ kind: "ended", ending: end }));
  // A question that fails because the sandbox ended is answered by how it ended.
  const prepared = prepare(deps, attempt, sandbox).catch((error: unknown) => {
    deps.logger.warn("set_up_failed", { error });
    return deadline(ending, ENDING_DEADLINE_MS, (): SetUp => ({ kind: "hand_back", reason: "set_up_failed" }));
  });
  return Promise.race([prepared, ending]).finally(watch.stop);
}
