/** A producer of the lab: every call and every read goes into the history. */
import { createHash } from "node:crypto";
import { type HoldfastClient, HoldfastError, openClient } from "@holdfast/client";
import {
  canonicalJson,
  drawTaskId,
  isTerminal,
  type Outcome,
  type TaskName,
  type TaskRequestInput,
  type TaskView,
  taskIdSchema,
  workspaceIdSchema,
} from "@holdfast/contract";
import type { History, Operation } from "./history.js";

/** Codes after which nobody knows whether the call was applied. */
const UNKNOWN = new Set(["LEDGER_UNAVAILABLE", "INTERNAL"]);

export function keyOf(task: TaskName): string {
  return `${task.workspace_id}.${task.task_id}`;
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

export interface RecordedClient {
  readonly name: string;
  readonly client: HoldfastClient;
  /** Null where the call failed or nobody knows; the history tells which. */
  submit(input: TaskRequestInput): Promise<TaskName | null>;
  cancel(task: TaskName): Promise<string>;
  /** Waits for the task's end. */
  outcome(task: TaskName, bound_ms: number): Promise<Outcome>;
  /** Reads events under the name `reader` after `after`, up to `until` or to the end. Returns the last sequence. */
  read(task: TaskName, reading: Reading): Promise<number>;
  view(task: TaskName): Promise<TaskView | null>;
  close(): Promise<void>;
}

export interface Reading {
  readonly reader: string;
  readonly after?: number;
  readonly until?: number;
  readonly signal?: AbortSignal;
}

export interface RecordedClientOptions {
  readonly name: string;
  readonly url: string;
  readonly prefix: string;
  readonly queue_prefix: string;
  readonly history: History;
}

export async function openRecordedClient(options: RecordedClientOptions): Promise<RecordedClient> {
  const { name, url, prefix, queue_prefix, history } = options;
  const client = await openClient({ redis_url: url, prefix, queue_prefix });

  async function recorded<Reply>(
    op: Operation,
    task: TaskName,
    body: string,
    act: () => Promise<[string, Reply]>,
  ): Promise<Reply | null> {
    const call = history.nextCall();
    history.add({ kind: "call", call, op, task: keyOf(task), body });
    try {
      const [reply, value] = await act();
      history.add({ kind: "answer", call, result: "ok", reply });
      return value;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const reply = error.code === "TASK_CONFLICT" ? "conflict" : error.code;
      history.add({ kind: "answer", call, result: UNKNOWN.has(error.code) ? "unknown" : "fail", reply });
      return null;
    }
  }

  return {
    name,
    client,
    submit: async (input) => {
      const task_id = taskIdSchema.parse(input.task_id ?? drawTaskId());
      const workspace_id = workspaceIdSchema.parse(input.workspace_id ?? "default");
      const request = { ...input, task_id, workspace_id };
      const task = { workspace_id, task_id };
      return recorded("submit", task, digestOf(request), async () => [
        (await client.submit(request)).existing ? "existing" : "accepted",
        task,
      ]);
    },
    cancel: async (task) =>
      (await recorded("cancel", task, "", async () => {
        const { kind } = await client.cancel(task);
        return [kind, kind];
      })) ?? "unknown",
    outcome: async (task, bound_ms) => {
      const outcome = await client.outcome(task, { wait_ms: bound_ms });
      if (outcome === null) throw new Error(`${keyOf(task)} has not ended within ${bound_ms} ms`);
      history.add({
        kind: "outcome",
        reader: name,
        task: keyOf(task),
        status: outcome.status,
        digest: digestOf(outcome),
        attempt: outcome.attempt,
        output_bytes: outcome.ran ? outcome.stdout.total_bytes + outcome.stderr.total_bytes : null,
      });
      return outcome;
    },
    read: (task, reading) => readEvents({ client, history, task, ...reading }),
    view: async (task) => {
      try {
        return await client.status(task);
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.code !== "TASK_NOT_FOUND") throw error;
        history.add({ kind: "no_task", reader: name, task: keyOf(task) });
        return null;
      }
    },
    close: () => client.close(),
  };
}

interface ReadDeps extends Reading {
  readonly client: HoldfastClient;
  readonly history: History;
  readonly task: TaskName;
}

async function readEvents(deps: ReadDeps): Promise<number> {
  const { client, history, task, reader, after = 0, until = Number.POSITIVE_INFINITY, signal } = deps;
  let last = after;
  history.add({ kind: "follow", reader, task: keyOf(task), after });
  for await (const item of client.events(task, { after, ...(signal === undefined ? {} : { signal }) })) {
    if (item.kind === "gap") {
      history.add({ kind: "gap", reader, task: keyOf(task), from: item.from, to: item.to });
      last = item.to;
    }
    if (!("sequence" in item)) continue;
    const { sequence, attempt, kind: event } = item;
    const status = item.kind === "task_finished" ? item.status : null;
    const bytes = item.kind === "task_log" ? item.bytes + item.dropped_bytes : 0;
    const digest = digestOf(item);
    history.add({ kind: "event", reader, task: keyOf(task), sequence, event, attempt, digest, bytes, status });
    last = sequence;
    if (last >= until) break;
  }
  return last;
}

export function hasEnded(view: TaskView | null): boolean {
  return view !== null && isTerminal(view.status);
}
