/** The end of a run: faults lifted, all tasks ended and read by several readers, nothing left, the history judged. */
import { copyFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TaskName, TIMES, taskIdSchema, workspaceIdSchema } from "@holdfast/contract";
import { engineAsk } from "../../support/engine-call.js";
import { waitFor } from "../../support/wait-for.js";
import { type CheckTimes, checkHistory, type Violation } from "./checker.js";
import { containersOf } from "./engine.js";
import { type LabFleet, ledgerLeftovers, QUEUE_PREFIX } from "./fleet.js";
import { allOf } from "./history.js";
import { hasEnded, type RecordedClient } from "./recorded-client.js";

export interface RestOptions {
  /** For all tasks to end, and again for the engines to be clean. */
  readonly bound_ms: number;
  readonly times: CheckTimes;
}

/** Volumes that stand as long as the fleet does. */
const STANDING_VOLUMES = /^holdfast-/;

/** Every task anybody tried to submit. */
function tasksOf(fleet: LabFleet): TaskName[] {
  const keys = new Set(
    allOf(fleet.history.records, "call")
      .filter(({ op }) => op === "submit")
      .map(({ task }) => task),
  );
  return [...keys].map((key) => {
    const [workspace = "", task = ""] = key.split(".");
    return { workspace_id: workspaceIdSchema.parse(workspace), task_id: taskIdSchema.parse(task) };
  });
}

async function untilEnded(client: RecordedClient, tasks: readonly TaskName[], bound_ms: number): Promise<void> {
  let open = [...tasks];
  const allEnded = async () => {
    const views = await Promise.all(
      open.map(async (task) => ({ task, view: await client.client.status(task).catch(() => null) })),
    );
    open = views.filter(({ view }) => view !== null && !hasEnded(view)).map(({ task }) => task);
    return open.length === 0;
  };
  await waitFor(allEnded, { bound_ms, what: "all tasks end", look_ms: 100 }).catch((error: unknown) => {
    throw new Error(
      `${error instanceof Error ? error.message : error}; open: ${open.map(({ task_id }) => task_id).join(" ")}`,
    );
  });
}

/** Two readers each: one from the start, one that stops at a place of its own and resumes there. */
async function readAll(clients: readonly RecordedClient[], tasks: readonly TaskName[]): Promise<void> {
  for (const [n, task] of tasks.entries()) {
    for (const client of clients) {
      if ((await client.view(task)) === null) continue;
      await client.outcome(task, 5_000);
      const cut = client === clients[0] ? undefined : 1 + (n % 3);
      const reader = `${client.name} at rest`;
      const last = await client.read(task, { reader, ...(cut === undefined ? {} : { until: cut }) });
      if (cut !== undefined) await client.read(task, { reader, after: last });
    }
  }
}

/** A job that sleeps because its task ran elsewhere wakes by itself within this time, and finds the task ended. */
const SLEEP_MS_MAX = TIMES.parked_sleep_ms + 1_000;

async function queueLeftovers(fleet: LabFleet): Promise<string[]> {
  const found: string[] = [];
  const count = async (what: string, ...words: string[]) => {
    const reply = await fleet.redis.say(...words);
    if (reply !== ":0") found.push(`${reply.slice(1)} ${what}`);
  };
  const key = (state: string) => `${QUEUE_PREFIX}:tasks:${state}`;
  await count("jobs wait", "LLEN", key("wait"));
  found.push(...(await activeForGood(fleet)));
  await count("jobs wait by priority", "ZCARD", key("prioritized"));
  // BullMQ keeps the moment of waking in milliseconds, shifted by 12 bits.
  await count("jobs sleep for too long", "ZCOUNT", key("delayed"), `${(Date.now() + SLEEP_MS_MAX) * 4096}`, "+inf");
  return found;
}

async function activeJobs(fleet: LabFleet): Promise<string[]> {
  const reply = await fleet.redis.say("LRANGE", `${QUEUE_PREFIX}:tasks:active`, "0", "-1");
  return reply.split("\r\n").filter((_, line) => line > 0 && line % 2 === 0);
}

/** A job that died with its worker is given back once its lock has run out, by whichever worker looks then. */
async function noneActive(fleet: LabFleet): Promise<void> {
  if (!fleet.workers.some((worker) => worker.isAlive())) return;
  const none = async () => (await activeJobs(fleet)).length === 0;
  await waitFor(none, { bound_ms: 40_000, what: "every job that died with its worker ends", look_ms: 250 });
}

/** One without a lock would stay. */
async function activeForGood(fleet: LabFleet): Promise<string[]> {
  const jobs = await activeJobs(fleet);
  const locks = await Promise.all(jobs.map((job) => fleet.redis.say("PTTL", `${QUEUE_PREFIX}:tasks:${job}:lock`)));
  return jobs.filter((_, index) => !/^:[1-9]/.test(locks[index] ?? "")).map((job) => `job ${job} is active for good`);
}

async function engineLeftovers(socket: string): Promise<string[]> {
  const containers = await containersOf(socket);
  const { Volumes } = (await engineAsk(socket, "GET", "/volumes")) as { Volumes: { Name: string }[] | null };
  const strays = (Volumes ?? []).filter(({ Name }) => !STANDING_VOLUMES.test(Name));
  return [
    ...containers.map(({ name, state }) => `container ${name} ${state}`),
    ...strays.map(({ Name }) => `volume ${Name}`),
  ];
}

async function restOf(fleet: LabFleet): Promise<string[]> {
  const engines = await Promise.all(fleet.engines.map(({ socket }) => engineLeftovers(socket)));
  return [...(await ledgerLeftovers(fleet.redis)), ...(await queueLeftovers(fleet)), ...engines.flat()];
}

/** Keeps what is needed to understand a failure, and says where. */
function keepEvidence(fleet: LabFleet): string {
  const file = join(tmpdir(), `holdfast-faults-${process.pid}-${Math.round(performance.now())}`);
  copyFileSync(fleet.history.file, `${file}.history.jsonl`);
  const logs = fleet.workers.flatMap((worker) => worker.process().lines.map((line) => `${worker.name} ${line}`));
  writeFileSync(`${file}.log`, logs.join("\n"));
  return file;
}

function words(violations: readonly Violation[]): string {
  return violations
    .slice(0, 20)
    .map(({ invariant, message, at_ms }) => `${invariant} at ${Math.round(at_ms)}: ${message}`)
    .join("\n");
}

export async function bringToRest(fleet: LabFleet, { bound_ms, times }: RestOptions): Promise<void> {
  try {
    await fleet.producerLine.heal();
    for (const worker of fleet.workers) {
      await worker.redis.heal();
      await worker.engine.heal();
      worker.process().resume();
    }
    const tasks = tasksOf(fleet);
    const clients = [await fleet.openClient("r1"), await fleet.openClient("r2")];
    const [first] = clients;
    if (first !== undefined) await untilEnded(first, tasks, bound_ms);
    await readAll(clients, tasks);
    const empty = async () => (await first?.client.sandboxes())?.length === 0;
    await waitFor(empty, { bound_ms, what: "every sandbox's capacity is given back", look_ms: 100 });
    await noneActive(fleet);
    await fleet.look();
    await endWorkers(fleet);
    const leftovers = await restOf(fleet);
    fleet.history.add({ kind: "rest", leftovers });
    const violations = checkHistory(fleet.history.records, times);
    if (violations.length > 0) throw new Error(`${violations.length} violations\n${words(violations)}`);
  } catch (error) {
    const evidence = keepEvidence(fleet);
    throw new Error(`${error instanceof Error ? error.message : error}\nhistory and logs: ${evidence}.*`, {
      cause: error,
    });
  }
}

async function endWorkers(fleet: LabFleet): Promise<void> {
  const alive = fleet.workers.filter((worker) => worker.isAlive());
  await Promise.all(
    alive.map(async (worker) => {
      const { code } = await worker.terminate(30_000);
      if (code !== 0)
        throw new Error(`${worker.name} ended with ${code}: ${worker.process().lines.slice(-5).join("\n")}`);
    }),
  );
}
