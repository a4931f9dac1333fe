/** What happens in one schedule: drawn whole from its seed before anything runs, so that a seed repeats it. */
import { type Chance, createChance } from "../../support/chance.js";
import type { HostLimits } from "./host.js";

export type By =
  | "client"
  /** The same request twice at once. */
  | "twice"
  /** A plain producer's own job. */
  | "plain"
  /** The producer dies after its accept: the job is never added. */
  | "lost";

export interface Submit {
  readonly kind: "submit";
  readonly task: string;
  readonly workspace: string;
  readonly run_ms: number;
  readonly memory_mb: number;
  readonly cpu: number;
  readonly queue_timeout_seconds: number;
  readonly by: By;
}

export interface Limits {
  readonly slots: number;
  /** A task of the largest size fits into any. */
  readonly cpu_milli: number;
}

export type Step =
  | Submit
  /** Of an earlier task. `sent`: whether whom the answer names is woken. */
  | { readonly kind: "cancel"; readonly nth: number; readonly sent: boolean }
  | { readonly kind: "limit"; readonly workspace: string | null; readonly limits: Limits }
  | { readonly kind: "drain"; readonly host: number; readonly draining: boolean }
  | { readonly kind: "start"; readonly host: number }
  | { readonly kind: "stop"; readonly worker: number }
  | { readonly kind: "crash"; readonly worker: number }
  /** The next time it comes by: before the request has left, or after it was applied. */
  | {
      readonly kind: "crash_at";
      readonly worker: number;
      readonly script: string;
      readonly side: "request" | "reply";
      readonly nth: number;
    }
  | { readonly kind: "lose_reply"; readonly worker: number; readonly script: string; readonly nth: number }
  | { readonly kind: "reset"; readonly worker: number }
  | { readonly kind: "stall"; readonly worker: number; readonly ms: number }
  | { readonly kind: "sick"; readonly host: number; readonly ms: number };

export interface Moment {
  readonly gap_ms: number;
  readonly step: Step;
}

/** Each such request reaches Redis so much later, which widens the gaps that a race needs. */
export interface Slow {
  readonly script: string;
  readonly ms: number;
}

export interface Schedule {
  readonly seed: number;
  /**
   * `prompt`: nothing is lost, and the duty that would find a lost wake-up is out of order: what the scripts answer
   * must do. `rough`: workers die, lines fail and engines get sick.
   */
  readonly mode: "prompt" | "rough";
  readonly hosts: readonly HostLimits[];
  /** Workers at the beginning, by number of their host. */
  readonly workers: readonly number[];
  readonly moments: readonly Moment[];
  readonly slow: readonly Slow[];
  /** Of each workspace and the fleet (`""`) from when the disturbances stop; scarce, so that all must wait. */
  readonly last_limits: Readonly<Record<string, Limits>>;
}

const WORKSPACES = ["w1", "w2", "w3", "w4"];
const SIZES = [
  { memory_mb: 32, cpu: 0.25 },
  { memory_mb: 32, cpu: 0.25 },
  { memory_mb: 200, cpu: 1 },
  { memory_mb: 600, cpu: 2 },
] as const;
const CPU_LIMITS = [64_000, 64_000, 2_000, 2_500, 3_500];
/** Each size fits into it. */
const LARGE_HOST = { cpu: 4, memory_mb: 1_400 };
const SMALL_HOST = { cpu: 2, memory_mb: 500 };

/** Where a worker dies or an answer is lost: every step between the ledger's answer and the queue's. */
const POINTS = [
  ...["task-admit", "task-activate", "task-settle", "task-release", "task-requeue", "task-heal", "task-redeliver"],
  ...[
    "boot-beat",
    "boot-look",
    "boot-bury",
    "boot-recover",
    "boot-free",
    "boot-reroute",
    "task-heads",
    "task-expire",
    "task-look",
  ],
  ...["bull:addStandardJob", "job-promote", "bull:moveToDelayed", "bull:moveToFinished"],
  ...["bull:moveToActive", "bull:moveJobFromActiveToWait"],
] as const;

const SLOW_POINTS = [
  ...["bull:moveToDelayed", "bull:moveToDelayed", "job-promote", "bull:addStandardJob", "bull:moveToActive"],
  ...["bull:moveToFinished", "task-admit", "task-settle", "task-release"],
] as const;

function drawSlow(chance: Chance): Slow[] {
  const count = chance.once(0.5) ? 1 + chance.below(2) : 0;
  return Array.from({ length: count }, () => ({ script: chance.pick(SLOW_POINTS), ms: 10 + chance.below(110) }));
}

function drawSubmit(chance: Chance, workspaces: readonly string[], n: number): Submit {
  const by = chance.once(0.75) ? "client" : chance.pick<By>(["twice", "plain", "lost"]);
  return {
    kind: "submit",
    task: `t${n}`,
    workspace: chance.pick(workspaces),
    run_ms: chance.once(0.5) ? chance.below(20) : chance.below(250),
    ...chance.pick(SIZES),
    queue_timeout_seconds: chance.once(0.08) ? 1 + chance.below(3) : 600,
    by,
  };
}

function drawTrouble(chance: Chance): Step {
  const worker = chance.below(8);
  const at = { worker, script: chance.pick(POINTS), nth: 1 + chance.below(3) };
  switch (chance.below(8)) {
    case 0:
      return { kind: "crash", worker };
    case 1:
    case 2:
      return { kind: "crash_at", side: chance.pick(["request", "reply"]), ...at };
    case 3:
    case 4:
      return { kind: "lose_reply", ...at };
    case 5:
      return { kind: "reset", worker };
    case 6:
      return { kind: "stall", worker, ms: chance.once(0.6) ? chance.below(3_000) : 7_000 + chance.below(7_000) };
    default:
      return { kind: "sick", host: chance.below(3), ms: 500 + chance.below(3_000) };
  }
}

function drawStep(chance: Chance, workspaces: readonly string[], n: number): Step {
  const at = chance.below(21);
  if (at < 13) return drawSubmit(chance, workspaces, n);
  if (at < 15) return { kind: "cancel", nth: chance.below(n + 1), sent: true };
  if (at < 18) {
    const limits = { slots: chance.pick([0, 1, 1, 2, 3]), cpu_milli: chance.pick(CPU_LIMITS) };
    return { kind: "limit", workspace: chance.maybe([...workspaces, null]), limits };
  }
  if (at === 18) return { kind: "drain", host: chance.below(3), draining: chance.once(0.5) };
  return at === 19 ? { kind: "start", host: chance.below(3) } : { kind: "stop", worker: chance.below(8) };
}

/** Many come at once, then nothing for a while. */
const gap = (chance: Chance): number => (chance.once(0.6) ? chance.below(8) : chance.below(250));

function drawMoments(chance: Chance, workspaces: readonly string[], rough: boolean): Moment[] {
  const moments: Moment[] = [];
  const count = 25 + chance.below(25);
  for (let n = 0; n < count; n += 1) moments.push({ gap_ms: gap(chance), step: drawStep(chance, workspaces, n) });
  for (let left = rough ? 1 + chance.below(4) : 0; left > 0; left -= 1) {
    const at = Math.floor(count / 4) + chance.below(Math.ceil(count / 2));
    moments.splice(at, 0, { gap_ms: gap(chance), step: drawTrouble(chance) });
    if (chance.once(0.3)) moments.push({ gap_ms: 0, step: { kind: "cancel", nth: chance.below(count), sent: false } });
  }
  return moments;
}

export function drawSchedule(seed: number): Schedule {
  const chance = createChance(seed);
  const mode = seed % 2 === 0 ? "prompt" : "rough";
  const workspaces = WORKSPACES.slice(0, 1 + chance.below(WORKSPACES.length));
  const hosts = Array.from({ length: 1 + chance.below(3) }, (_, n) => ({
    slots: 1 + chance.below(3),
    ...(n === 0 || chance.once(0.5) ? LARGE_HOST : SMALL_HOST),
  }));
  const second = chance.once(0.5) ? [chance.below(hosts.length)] : [];
  return {
    seed,
    mode,
    hosts,
    workers: [...hosts.keys(), ...second],
    moments: drawMoments(chance, workspaces, mode === "rough"),
    slow: drawSlow(chance),
    last_limits: Object.fromEntries(
      [...workspaces, ""].map((id) => [id, { slots: 1 + chance.below(3), cpu_milli: chance.pick(CPU_LIMITS) }]),
    ),
  };
}
