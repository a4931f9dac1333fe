/** How callers name a task or a host. */
import {
  HoldfastError,
  type HostId,
  hostIdSchema,
  type TaskName,
  taskIdSchema,
  type WorkspaceId,
  workspaceIdSchema,
} from "@holdfast/contract";

const DEFAULT_WORKSPACE = "default";

/** A task_id in the workspace `default`, or both parts. */
export type TaskRef = string | { readonly workspace_id?: string; readonly task_id: string };

/** Throws INVALID_REQUEST naming the field: no id that breaks the grammar ever gets into a key. */
export function nameOf(ref: TaskRef): TaskName {
  const { workspace_id, task_id } = typeof ref === "string" ? { workspace_id: undefined, task_id: ref } : ref;
  const parsed = taskIdSchema.safeParse(task_id);
  if (!parsed.success) throw invalid("task_id", parsed.error.issues[0]?.message);
  return { workspace_id: workspaceOf(workspace_id), task_id: parsed.data };
}

export function workspaceOf(workspaceId: string = DEFAULT_WORKSPACE): WorkspaceId {
  const parsed = workspaceIdSchema.safeParse(workspaceId);
  if (!parsed.success) throw invalid("workspace_id", parsed.error.issues[0]?.message);
  return parsed.data;
}

export function hostIdOf(hostId: string): HostId {
  const parsed = hostIdSchema.safeParse(hostId);
  if (!parsed.success) throw invalid("host_id", parsed.error.issues[0]?.message);
  return parsed.data;
}

function invalid(field: string, why = "is not valid"): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", { field, message: `${field} ${why}` });
}
