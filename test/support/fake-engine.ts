/**
 * A Docker Engine in memory, at the seam below our own calls: it answers status and text as a real one does, so that
 * retries, failure kinds and the sweep above it are the real ones. `sweep-conformance.ts` holds it to a real engine.
 */
import { createHash } from "node:crypto";
import { deadline, pause } from "@holdfast/chassis";
import type { EngineCall, EngineCaller } from "../../packages/engine/src/engine-call.js";
import { failed, failureOfStatus, ok } from "../../packages/engine/src/engine-failure.js";

export type FakeState = "created" | "running" | "paused" | "exited" | "dead" | "removing";

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whole seconds of the engine's own clock, in milliseconds. */
  readonly created_at_ms: number;
  state: FakeState;
}

/** Something that really happened, whatever was answered. */
export interface FakeEffect {
  readonly kind: "created" | "killed" | "removed";
  readonly container: FakeContainer;
  readonly by: string;
}

/** What goes wrong with one call. */
export interface Trouble {
  /** Before the call takes effect. */
  readonly delay_ms?: number;
  readonly fate?: "unreachable" | "busy" | "reply_lost";
  /** How old a list's view is. */
  readonly lag_ms?: number;
  readonly removal_ms?: number;
  /** A removal that fails at its end leaves the container dead. */
  readonly removal_fails?: boolean;
}

export interface FakeEngineOptions {
  /** The engine's own clock, milliseconds. */
  now(): number;
  trouble?(verb: string): Trouble;
  onEffect?(effect: FakeEffect): void;
}

export interface FakeEngine {
  caller(by: string): EngineCaller;
  containers(): readonly FakeContainer[];
  /** As if somebody beside us had done it, or as if it ended by itself; null takes the container away. */
  put(id: string, state: FakeState | null): void;
}

interface Kept {
  readonly container: FakeContainer;
  /** Oldest first; null once it is gone. */
  readonly history: { readonly at_ms: number; readonly state: FakeState | null }[];
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const LAG_MS_MAX = 60_000;
const answer = (status: number, body: unknown = null): Answer => ({ status, body });
const refusal = (status: number, message: string): Answer => answer(status, { message });
const missing = (ref: string): Answer => refusal(404, `No such container: ${ref}`);

function verbOf({ method, path }: EngineCall): { verb: string; ref: string } {
  const [, noun = "", second = "", third = ""] = path.split("/");
  if (noun !== "containers") return { verb: noun, ref: "" };
  if (third === "") return method === "DELETE" ? { verb: "remove", ref: second } : { verb: listOr(second), ref: "" };
  return { verb: third === "json" ? "inspect" : third, ref: second };
}

const listOr = (last: string): string => (last === "json" ? "list" : last);

interface Memory extends FakeEngineOptions {
  readonly all: Map<string, Kept>;
  made: number;
}

const present = ({ all }: Memory): Kept[] => [...all.values()].filter(({ history }) => history.at(-1)?.state !== null);
const find = (engine: Memory, ref: string): Kept | undefined =>
  present(engine).find(({ container: { id, name } }) => id === ref || name === ref);

function move(engine: Memory, { container, history }: Kept, state: FakeState | null): void {
  if (state !== null) container.state = state;
  history.push({ at_ms: engine.now(), state });
}

function create(engine: Memory, name: string, body: object | undefined, by: string): Answer {
  if (find(engine, name) !== undefined)
    return refusal(409, `Conflict. The container name "/${name}" is already in use`);
  const labels = body !== undefined && "Labels" in body ? (body.Labels as Record<string, string>) : {};
  const id = createHash("sha256")
    .update(String(engine.made++))
    .digest("hex");
  const created_at_ms = Math.floor(engine.now() / 1_000) * 1_000;
  const kept: Kept = { container: { id, name, labels, created_at_ms, state: "created" }, history: [] };
  engine.all.set(id, kept);
  move(engine, kept, "created");
  engine.onEffect?.({ kind: "created", container: kept.container, by });
  return answer(201, { Id: id, Warnings: [] });
}

function list(engine: Memory, query: EngineCall["query"], lag_ms: number): Answer {
  const { label = [] } = JSON.parse(String(query?.["filters"] ?? "{}")) as { label?: string[] };
  const seen_at_ms = engine.now() - lag_ms;
  const rows = [...engine.all.values()].flatMap(({ container, history }) => {
    const state = history.findLast(({ at_ms }) => at_ms <= seen_at_ms)?.state ?? null;
    const { id, name, labels, created_at_ms } = container;
    const bears = label.every((pair) => labels[pair.slice(0, pair.indexOf("="))] === pair.slice(pair.indexOf("=") + 1));
    if (state === null || !bears) return [];
    return [{ Id: id, Names: [`/${name}`], Labels: labels, State: state, Created: created_at_ms / 1_000 }];
  });
  for (const [id, { history }] of engine.all) {
    const last = history.at(-1);
    if (last?.state === null && last.at_ms < engine.now() - LAG_MS_MAX) engine.all.delete(id);
  }
  return answer(200, rows);
}

function signal(engine: Memory, kept: Kept, ref: string, by: string): Answer {
  const { container } = kept;
  if (container.state !== "running" && container.state !== "paused") {
    return refusal(409, `Cannot kill container: ${ref}: Container ${container.id} is not running`);
  }
  engine.onEffect?.({ kind: "killed", container, by });
  move(engine, kept, "exited");
  return answer(204);
}

function turn(engine: Memory, kept: Kept, verb: string): Answer {
  const { id, state } = kept.container;
  switch (verb) {
    case "start":
      if (state === "running") return answer(304);
      if (state === "paused") return refusal(409, "cannot start a paused container, try unpause instead");
      if (state === "dead" || state === "removing") return refusal(409, `container ${id} is marked for removal`);
      move(engine, kept, "running");
      return answer(204);
    case "pause":
      if (state === "paused") return refusal(409, `Container ${id} is already paused`);
      if (state !== "running") return refusal(409, `Container ${id} is not running`);
      move(engine, kept, "paused");
      return answer(204);
    default:
      if (state !== "paused") return refusal(500, `Container ${id} is not paused`);
      move(engine, kept, "running");
      return answer(204);
  }
}

async function remove(engine: Memory, kept: Kept, ref: string, trouble: Trouble, by: string): Promise<Answer> {
  const { id, state } = kept.container;
  if (state === "removing") return refusal(409, `removal of container ${ref} is already in progress`);
  if (state === "running" || state === "paused") {
    return refusal(409, `You cannot remove a ${state} container ${id}. Stop the container before attempting removal`);
  }
  move(engine, kept, "removing");
  engine.onEffect?.({ kind: "removed", container: kept.container, by });
  if (trouble.removal_ms !== undefined) await pause(trouble.removal_ms);
  if (kept.history.at(-1)?.state === null) return answer(204);
  move(engine, kept, trouble.removal_fails === true ? "dead" : null);
  if (trouble.removal_fails !== true) return answer(204);
  return refusal(500, `container ${id}: driver failed to remove root filesystem: device or resource busy`);
}

function show({ id, name, labels, state }: FakeContainer): Answer {
  const alive = state === "running" || state === "paused";
  const State = { Status: state, Running: alive, Paused: state === "paused", Dead: state === "dead" };
  return answer(200, { Id: id, Name: `/${name}`, State, Config: { Labels: labels } });
}

async function apply(engine: Memory, call: EngineCall, trouble: Trouble, by: string): Promise<Answer> {
  const { verb, ref } = verbOf(call);
  if (trouble.delay_ms !== undefined) await pause(trouble.delay_ms);
  if (trouble.fate === "busy") return refusal(500, "device or resource busy");
  if (verb === "version") return answer(200, { ApiVersion: "1.41", MinAPIVersion: "1.12" });
  if (verb === "info") return answer(200, { SystemTime: new Date(engine.now()).toISOString() });
  if (verb === "create") return create(engine, String(call.query?.["name"] ?? ""), call.body, by);
  if (verb === "list") return list(engine, call.query, trouble.lag_ms ?? 0);
  const kept = find(engine, ref);
  if (kept === undefined) return missing(ref);
  if (verb === "remove") return remove(engine, kept, ref, trouble, by);
  if (verb === "kill") return signal(engine, kept, ref, by);
  if (verb !== "inspect") return turn(engine, kept, verb);
  return show(kept.container);
}

export function createFakeEngine(options: FakeEngineOptions): FakeEngine {
  const memory: Memory = { ...options, all: new Map(), made: 0 };
  return {
    caller: (by) => ({
      async call(call) {
        const detail = `${call.method} ${call.path}`;
        const trouble = options.trouble?.(verbOf(call).verb) ?? {};
        if (trouble.fate === "unreachable") return failed({ kind: "unreachable", detail });
        const given = await deadline<Answer | null>(apply(memory, call, trouble, by), call.deadline_ms, () => null);
        if (given === null) return failed({ kind: "deadline", detail });
        if (trouble.fate === "reply_lost") return failed({ kind: "dropped", detail });
        return given.status < 400 ? ok(given.body) : failed(failureOfStatus(given.status, given.body));
      },
      hijack: async () => failed({ kind: "refused", detail: "no streams here" }),
    }),
    containers: () => present(memory).map(({ container }) => container),
    put(id, state) {
      const kept = find(memory, id);
      if (kept !== undefined) move(memory, kept, state);
    },
  };
}
