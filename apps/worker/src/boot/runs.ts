/** The attempts this boot has under way, by owner token. */
import type { OwnerToken, TaskName } from "@holdfast/contract";
import type { Grant } from "@holdfast/ledger";
import type { Orders } from "../run/orders.js";
import type { TaskRun } from "../run/task-run.js";
import type { Source } from "./gate.js";

export interface RunEntry {
  readonly grant: Grant;
  readonly orders: Orders;
  readonly run: TaskRun;
  /** Where the job came from that stands for it. */
  readonly source: Source;
  /** True once the job was answered and only the removal is left. */
  answered: boolean;
}

export interface Runs {
  add(entry: RunEntry): void;
  remove(owner_token: OwnerToken): void;
  get(owner_token: OwnerToken): RunEntry | undefined;
  ofTask(name: TaskName): RunEntry | undefined;
  all(): RunEntry[];
  /** Resolves when nothing is under way any more. */
  whenEmpty(): Promise<void>;
}

export function createRuns(): Runs {
  const entries = new Map<OwnerToken, RunEntry>();
  const waiting = new Set<() => void>();
  return {
    add: (entry) => void entries.set(entry.grant.owner_token, entry),
    remove: (owner_token) => {
      entries.delete(owner_token);
      if (entries.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
    get: (owner_token) => entries.get(owner_token),
    ofTask: ({ workspace_id, task_id }) =>
      [...entries.values()].find(({ grant }) => grant.workspace_id === workspace_id && grant.task_id === task_id),
    all: () => [...entries.values()],
    whenEmpty: () => (entries.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.add(resolve))),
  };
}
