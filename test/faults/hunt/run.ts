/** One schedule from its seed to its verdict. */
import { isTerminal } from "@holdfast/contract";
import { census } from "@holdfast/ledger";
import { waitFor } from "../../support/wait-for.js";
import { delayRequest } from "../lab/proxy.js";
import { createActor } from "./act.js";
import { type HuntFleet, openHuntFleet } from "./fleet.js";
import { createTurns, type Turns } from "./order.js";
import { drawSchedule, type Schedule } from "./schedule.js";
import { taskNamed } from "./stage.js";
import { type Watch, watchFleet } from "./watch.js";

/** Of the watch's own clock: recovery of the dead, and the scarce room of the end. */
const REST_MS_MAX = 90_000;
/** However slow the machine is, so that a run ends. */
const HANG_MS = 600_000;
const EVENTS_MAX = 1_000;

export interface Verdict {
  readonly seed: number;
  readonly tasks: number;
  readonly prompt: boolean;
  /** The longest that anybody waited beside free room, in milliseconds of the watch's clock. */
  readonly longest_ms: number;
  /** What was wrong, in words; empty where all held. */
  readonly wrong: readonly string[];
  readonly log: readonly string[];
}

/** Waits while the watch's clock allows it. False where it does not come to pass. */
async function comes(watch: Watch, what: string, condition: () => Promise<boolean> | boolean): Promise<boolean> {
  const from_ms = watch.now_ms();
  const over = () => watch.wrong.length > 0 || watch.now_ms() - from_ms > REST_MS_MAX;
  let came = false;
  const look = async () => {
    came = await condition();
    return came || over();
  };
  await waitFor(look, { bound_ms: HANG_MS, what, look_ms: 200 });
  return came;
}

/** T1, V1: one end, the last event, the same in record and stream. */
async function wrongEnds(fleet: HuntFleet, names: readonly string[]): Promise<string[]> {
  const judged = names.map(async (name) => {
    const task = taskNamed(name);
    const [outcome, events] = await Promise.all([
      fleet.ledger.tasks.outcome(task),
      fleet.ledger.events.read(task, 0, EVENTS_MAX),
    ]);
    const ends = events.filter(({ kind }) => kind === "task_finished");
    const inOrder = events.every(({ sequence }, n) => sequence === n + 1);
    const [end] = ends;
    const agrees = end?.kind === "task_finished" && end.status === outcome?.status;
    if (ends.length === 1 && events.at(-1) === end && inOrder && agrees) return [];
    return [`${name} ended ${ends.length} times, ${outcome?.status}: ${JSON.stringify(events)}`];
  });
  return (await Promise.all(judged)).flat();
}

async function leftBehind(fleet: HuntFleet): Promise<string[]> {
  const { keys: _, ...found } = await census(fleet.ledger);
  const left = Object.entries(found).flatMap(([what, items]) => items.map((item) => `${what}: ${item}`));
  const sandboxes = fleet.hosts.filter((host) => host.left() > 0).map((host) => `sandboxes of ${host.host_id}`);
  return [...left, ...sandboxes];
}

async function judgeRest(fleet: HuntFleet, watch: Watch, plain_jobs: readonly string[]): Promise<string[]> {
  const finished = async () => {
    const states = await Promise.all(plain_jobs.map((job) => fleet.queue.state("tasks", job)));
    return states.every((state) => state === "finished");
  };
  if (!(await comes(watch, "plain jobs end", finished)))
    return [...watch.wrong, "a plain producer's job has not ended"];
  const free = () => watch.last()?.tasks.every(({ open }) => open === 0) ?? false;
  if (!(await comes(watch, "all capacity is free", free))) {
    return [...watch.wrong, "capacity is not free", ...(await leftBehind(fleet))];
  }
  await Promise.all(fleet.workers.filter(({ health }) => health === "up").map(fleet.stop));
  return leftBehind(fleet);
}

async function play(schedule: Schedule, fleet: HuntFleet, turns: Turns): Promise<Omit<Verdict, "seed">> {
  const actor = createActor(fleet, schedule);
  const watch = watchFleet(fleet, () => actor.names);
  try {
    await Promise.all(schedule.workers.map((n) => fleet.start(fleet.hosts[n] ?? fail(n))));
    await actor.play();
    await actor.rest();
    const ended = () =>
      watch.last()?.tasks.filter(({ status }) => isTerminal(status as "PENDING")).length === actor.names.length;
    const all = await comes(watch, "every task ends", ended);
    const prompt = fleet.wasPrompt();
    const wrong = all
      ? [
          ...(await judgeRest(fleet, watch, actor.plain_jobs)),
          ...(await wrongEnds(fleet, actor.names)),
          ...turns.overtakers(watch.last()?.tasks ?? [], actor.limits),
        ]
      : ["not every task ends", ...unfinished(watch)];
    return {
      tasks: actor.names.length,
      prompt,
      longest_ms: watch.longest_ms(),
      wrong: [...watch.wrong, ...wrong],
      log: [...fleet.log],
    };
  } finally {
    await watch.stop();
  }
}

function fail(n: number): never {
  throw new Error(`there is no host ${n}`);
}

const unfinished = (watch: Watch): string[] =>
  (watch.last()?.tasks ?? [])
    .filter(({ status }) => !isTerminal(status as "PENDING"))
    .map((task) => JSON.stringify(task));

export async function runSchedule(seed: number, redis_port: number): Promise<Verdict> {
  const schedule = drawSchedule(seed);
  const { hosts, mode } = schedule;
  const turns = createTurns();
  const fleet = await openHuntFleet({
    redis_port,
    prefix: `hunt${seed}`,
    hosts,
    without_heads_duty: mode === "prompt",
    onLine: (line) => {
      turns.watch(line);
      for (const { script, ms } of schedule.slow) line.on({ script, every: true }, delayRequest(ms));
    },
  });
  try {
    const verdict = await play(schedule, fleet, turns).catch((error: unknown) => {
      const wrong = [`the schedule broke off: ${error instanceof Error ? error.stack : error}`];
      return { tasks: 0, prompt: false, longest_ms: 0, wrong, log: [...fleet.log] };
    });
    return { seed, ...verdict };
  } finally {
    await fleet.close();
  }
}
