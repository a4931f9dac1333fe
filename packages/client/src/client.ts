/** The SDK: submit, watch, outcome, cancel for producers; hosts, sandboxes, drain, limits for operators. */
import {
  HoldfastError,
  type HostView,
  type Outcome,
  type SandboxView,
  type ScopeLimits,
  type ScopeView,
  type StreamItem,
  type TaskName,
  type TaskRequestInput,
  type TaskView,
} from "@holdfast/contract";
import { type Ledger, openLedger } from "@holdfast/ledger";
import { boundedCall, openTaskQueue, SHARED_QUEUE, type TaskQueue } from "@holdfast/queue";
import { awaitOutcome, type OutcomeOptions } from "./await-outcome.js";
import { type Cancelled, cancelTask } from "./cancel.js";
import { setDraining } from "./drain.js";
import { limitsOf, listLimits, type ScopeRef, setLimits } from "./limits.js";
import { listTasks, type TaskFilter, type TaskList } from "./list-tasks.js";
import { type Submitted, submitTask } from "./submit.js";
import { nameOf, type TaskRef, workspaceOf } from "./task-names.js";

const DEFAULT_FAIL_FAST_MS = 4_000;

export interface ClientOptions {
  readonly redis_url: string;
  /** First part of the ledger's keys; default `holdfast`. */
  readonly prefix?: string;
  /** First part of BullMQ's keys; default `bull`. */
  readonly queue_prefix?: string;
  /** How long a call waits for Redis before it throws LEDGER_UNAVAILABLE. Default 4,000. */
  readonly fail_fast_ms?: number;
}

export interface EventOptions {
  /** Last sequence the reader has; 0, the default, is from the start. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

export interface ListOptions extends TaskFilter {
  readonly workspace_id?: string;
}

/**
 * A connection of a producer to its fleet. Every call throws a HoldfastError with a `code` of the closed list:
 * LEDGER_UNAVAILABLE within `fail_fast_ms` where Redis is away, INVALID_REQUEST with the `field` at fault,
 * TASK_NOT_FOUND for an unknown task.
 */
export interface HoldfastClient {
  /**
   * Accepts a task and puts its delivery on the queue. Give a `task_id` to make a repetition after a lost reply
   * safe: the same request under it is the same task, another one throws TASK_CONFLICT. Where none was given,
   * a LEDGER_UNAVAILABLE names the drawn one in its evidence. A fleet's refusal throws with the fleet's code.
   */
  submit(input: TaskRequestInput): Promise<Submitted>;
  /** Waits for the task's end. Output text is null once its retention has passed. */
  outcome(task: TaskRef, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  /** Null where the task has not ended within `wait_ms`. */
  outcome(task: TaskRef, options: OutcomeOptions): Promise<Outcome | null>;
  /** Where the task stands; while it waits, why: whose limit, its place, and what each host lacks. */
  status(task: TaskRef): Promise<TaskView>;
  /**
   * The task's events after `after`, to its terminal one. Survives reconnects; `sequence` of the last event is the
   * cursor to resume from, here or in another process. Trimmed history is told as a `gap`.
   */
  events(task: TaskRef, options?: EventOptions): AsyncIterable<StreamItem>;
  /** `cancelled` is final; `requested` means that the worker is told and the outcome follows. Safe to repeat. */
  cancel(task: TaskRef): Promise<Cancelled>;
  /** Newest first, through all records of the workspace until `limit` match. */
  list(options?: ListOptions): Promise<TaskList>;
  hosts(): Promise<HostView[]>;
  sandboxes(): Promise<SandboxView[]>;
  /**
   * Takes a host out of service: nothing new starts there, whichever workers it has or gets; what runs there goes on.
   * `undrain` takes it back. Both are safe to repeat; HOST_NOT_FOUND for an unknown host.
   */
  drain(host_id: string): Promise<void>;
  undrain(host_id: string): Promise<void>;
  /** Limits and use of the fleet, its hosts, and all workspaces that have limits or unfinished tasks, by id. */
  limits(): Promise<readonly ScopeView[]>;
  /** Those of one scope, also where nothing is set. HOST_NOT_FOUND for an unknown host. */
  limitsOf(scope: ScopeRef): Promise<ScopeView>;
  /**
   * Sets the limits named; null lifts one. A lower limit ends nothing; a higher one lets waiters go on at once.
   * HOST_NOT_FOUND for an unknown host. A host's limits can be changed, not lifted.
   */
  setLimits(scope: ScopeRef, limits: ScopeLimits): Promise<void>;
  close(): Promise<void>;
}

/** Opens a client. Throws LEDGER_UNAVAILABLE where Redis cannot be reached within `fail_fast_ms`. */
export async function openClient(options: ClientOptions): Promise<HoldfastClient> {
  const { redis_url, prefix, queue_prefix, fail_fast_ms = DEFAULT_FAIL_FAST_MS } = options;
  const ledger = await openLedger({
    url: redis_url,
    role: "client",
    fail_fast_ms,
    ...(prefix === undefined ? {} : { prefix }),
  });
  const queue = openTaskQueue({
    ledger,
    fail_fast_ms,
    ...(queue_prefix === undefined ? {} : { prefix: queue_prefix }),
  });
  return clientOver({ ledger, queue, fail_fast_ms });
}

interface ClientDeps {
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  readonly fail_fast_ms: number;
}

type StatusDeps = Pick<ClientDeps, "queue" | "fail_fast_ms"> & Pick<Ledger, "tasks">;

/** The ledger knows nothing of queues: whether the shared one is paused is added here. */
async function statusOf({ tasks, queue, fail_fast_ms }: StatusDeps, name: TaskName): Promise<TaskView> {
  const view = await boundedCall(fail_fast_ms, () => tasks.status(name));
  if (!view) throw new HoldfastError("TASK_NOT_FOUND");
  if (view.waiting === null || view.phase === "sent_to_boot") return view;
  const { paused } = await queue.counts(SHARED_QUEUE);
  return { ...view, waiting: { ...view.waiting, queue_paused: paused } };
}

function clientOver({ ledger, queue, fail_fast_ms }: ClientDeps): HoldfastClient {
  const { tasks, events, hosts } = ledger;

  async function outcome(task: TaskRef, options: { readonly signal?: AbortSignal }): Promise<Outcome>;
  async function outcome(task: TaskRef, options?: OutcomeOptions): Promise<Outcome | null>;
  async function outcome(task: TaskRef, options: OutcomeOptions = {}): Promise<Outcome | null> {
    const ended = await awaitOutcome({ tasks, events, fail_fast_ms }, nameOf(task), options);
    if (!ended && options.wait_ms === undefined) throw new HoldfastError("TASK_NOT_FOUND");
    return ended;
  }

  return {
    submit: (input) => submitTask({ tasks, queue, fail_fast_ms }, input),
    outcome: outcome as HoldfastClient["outcome"],
    status: async (task) => statusOf({ tasks, queue, fail_fast_ms }, nameOf(task)),
    events: (task, { after = 0, signal } = {}) =>
      events.follow(nameOf(task), { after, ...(signal === undefined ? {} : { signal }) }),
    cancel: async (task) => cancelTask({ tasks, queue, fail_fast_ms }, nameOf(task)),
    list: async ({ workspace_id, ...filter } = {}) =>
      listTasks({ tasks, fail_fast_ms }, workspaceOf(workspace_id), filter),
    hosts: () => boundedCall(fail_fast_ms, () => hosts.list()),
    sandboxes: () => boundedCall(fail_fast_ms, () => hosts.sandboxes()),
    drain: (host_id) => setDraining({ hosts, queue, fail_fast_ms }, host_id, true),
    undrain: (host_id) => setDraining({ hosts, queue, fail_fast_ms }, host_id, false),
    limits: () => listLimits({ hosts, queue, fail_fast_ms }),
    limitsOf: async (scope) => limitsOf({ hosts, queue, fail_fast_ms }, scope),
    setLimits: async (scope, limits) => setLimits({ hosts, queue, fail_fast_ms }, scope, limits),
    close: async () => {
      await queue.close();
      await ledger.close();
    },
  };
}
