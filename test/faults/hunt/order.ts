/**
 * Turn within a workspace: by what the workers were answered, as it passed their lines. A task may go before an older
 * waiter only into room that does for both.
 */
import type { FaultProxy, Sighting } from "../lab/proxy.js";
import { bulkArguments } from "../lab/resp-frames.js";
import type { Limits } from "./schedule.js";
import type { TaskSight } from "./sight.js";

/** When a call was under way: what it did, it did between the two. */
interface Span {
  readonly asked_ms: number;
  readonly answered_ms: number;
}

interface Admit extends Span {
  /** `<workspace>.<task>`. */
  readonly name: string;
  readonly delivery: string;
  readonly answer: string;
  /** Of `parked`. */
  readonly scope: string;
  /** Of `granted`. */
  readonly attempt: string;
  readonly token: string;
}

interface Release extends Span {
  readonly token: string;
}

/** Null stands for the fleet. */
export interface LimitSet extends Span {
  readonly workspace: string | null;
  readonly limits: Limits;
}

export interface Turns {
  watch(line: FaultProxy): void;
  /** Tasks that took the room of an older one, in words. */
  overtakers(tasks: readonly TaskSight[], limits: readonly LimitSet[]): string[];
}

const ARGS_BEFORE = 3;
const NO_LIMIT: Limits = { slots: Number.POSITIVE_INFINITY, cpu_milli: Number.POSITIVE_INFINITY };

/** The most that the workspace may have been allowed at some moment of the span. */
function limitsIn(workspace: string, { asked_ms, answered_ms }: Span, all: readonly LimitSet[]): Limits {
  const own = all.filter((set) => set.workspace === workspace && set.asked_ms <= answered_ms);
  const before = own.findLastIndex((set) => set.answered_ms <= asked_ms);
  const possible = own.slice(Math.max(0, before)).map(({ limits }) => limits);
  if (before < 0) return NO_LIMIT;
  const most = (key: keyof Limits): number => Math.max(...possible.map((limits) => limits[key]));
  return { slots: most("slots"), cpu_milli: most("cpu_milli") };
}

function judge(
  admits: readonly Admit[],
  releases: readonly Release[],
  tasks: readonly TaskSight[],
  limits: readonly LimitSet[],
) {
  const known = new Map(tasks.map((task) => [task.name, task]));
  const accepted = (name: string): number => known.get(name)?.accepted_us ?? 0;
  const workspaceOf = (name: string): string => known.get(name)?.workspace ?? "";
  const cpuOf = (name: string): number => known.get(name)?.amount[1] ?? 0;
  const grants = admits.filter(({ answer }) => answer === "granted");

  /** Whoever certainly held room of the workspace all the while. */
  function heldDuring(span: Span, workspace: string): string[] {
    const before = grants.filter(
      ({ name, answered_ms }) => workspaceOf(name) === workspace && answered_ms < span.asked_ms,
    );
    const held = before.filter((grant) => {
      // What recovery freed was not seen here, and counts for nothing.
      const release = releases.find(({ token }) => token === grant.token);
      return release !== undefined && release.asked_ms > span.answered_ms;
    });
    return [...new Set(held.map(({ name }) => name))];
  }

  function takesRoom(younger: Admit, older: Admit): boolean {
    const workspace = workspaceOf(older.name);
    const held = [...heldDuring(younger, workspace), younger.name, older.name];
    const allowed = limitsIn(workspace, younger, limits);
    return held.length > allowed.slots || held.reduce((sum, name) => sum + cpuOf(name), 0) > allowed.cpu_milli;
  }

  /** While the older one certainly stood in its workspace's list, and could have had room by itself. */
  function overtakerOf(older: Admit, next: Admit): Admit | undefined {
    const within = grants.filter(
      ({ name, attempt, asked_ms, answered_ms }) =>
        workspaceOf(name) === workspaceOf(older.name) &&
        attempt === "1" &&
        accepted(name) > accepted(older.name) &&
        asked_ms > older.answered_ms &&
        answered_ms < next.asked_ms,
    );
    return within.find((younger) => {
      const allowed = limitsIn(workspaceOf(older.name), younger, limits);
      return cpuOf(older.name) <= allowed.cpu_milli && takesRoom(younger, older);
    });
  }

  const parked = admits.filter(({ answer, scope }) => answer === "parked" && scope === "workspace");
  return parked.flatMap((older) => {
    const next = admits.find(({ name, asked_ms }) => name === older.name && asked_ms > older.answered_ms);
    // Whatever else it is answered then, its turn ended at a moment that no line showed.
    const waited = next?.delivery === older.delivery && (next.answer === "granted" || next.answer === "parked");
    const younger = waited ? overtakerOf(older, next) : undefined;
    return younger === undefined ? [] : [`${younger.name} took the room that ${older.name} waited for`];
  });
}

export function createTurns(): Turns {
  const admits: Admit[] = [];
  const releases: Release[] = [];

  function see({ phase, detail, exchange, bytes, at_ms }: Sighting): void {
    if (phase !== "reply" || exchange === null || bytes === null) return;
    const [workspace = "", task = "", , , delivery = ""] = exchange.args.slice(ARGS_BEFORE);
    const call = { name: `${workspace}.${task}`, asked_ms: exchange.at_ms, answered_ms: at_ms };
    if (detail === "task-release") releases.push({ ...call, token: exchange.args[ARGS_BEFORE + 2] ?? "" });
    if (detail !== "task-admit") return;
    const [answer = "", second = "", , fourth = ""] = bulkArguments(bytes, 4, 64) ?? [];
    admits.push({ ...call, delivery, answer, scope: second, token: second, attempt: fourth });
  }

  return {
    watch: (line) => line.observe(see),
    overtakers: (tasks, limits) => judge(admits, releases, tasks, limits),
  };
}
