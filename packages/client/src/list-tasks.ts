/** Tasks of a workspace that match, gathered in steps that each hold Redis for a few milliseconds at most. */
import type { TaskStatus, TaskView, WorkspaceId } from "@holdfast/contract";
import type { TaskStore } from "@holdfast/ledger";
import { boundedCall } from "@holdfast/queue";

const DEFAULT_LIMIT = 50;

export interface TaskFilter {
  /** Most tasks to show; default 50. */
  readonly limit?: number;
  /** Default: any. */
  readonly statuses?: readonly TaskStatus[];
  /** With its tag, or without for every tag of it. */
  readonly image?: string;
  /** Accepted not longer ago than this. */
  readonly age_ms_max?: number;
}

export interface TaskList {
  /** Newest first. */
  readonly tasks: readonly TaskView[];
  readonly looked_at: number;
  /** When the oldest that was looked at was accepted; null where there was none. */
  readonly oldest_at_ms: number | null;
  /** False where `limit` ended the search: older ones may match too. */
  readonly complete: boolean;
}

export interface ListDeps {
  readonly tasks: Pick<TaskStore, "list">;
  readonly fail_fast_ms: number;
}

export async function listTasks(deps: ListDeps, workspace_id: WorkspaceId, filter: TaskFilter): Promise<TaskList> {
  const { limit = DEFAULT_LIMIT, ...wanted } = filter;
  const tasks: TaskView[] = [];
  let [looked_at, oldest_at_ms, cursor] = [0, null as number | null, null as string | null];
  do {
    const query = { ...wanted, workspace_id, cursor, limit: limit - tasks.length };
    const page = await boundedCall(deps.fail_fast_ms, () => deps.tasks.list(query));
    tasks.push(...page.tasks);
    looked_at += page.looked_at;
    oldest_at_ms = page.oldest_at_ms ?? oldest_at_ms;
    cursor = page.cursor;
  } while (cursor !== null && tasks.length < limit);
  return { tasks, looked_at, oldest_at_ms, complete: cursor === null };
}
