/** Sandboxes lost in a row by a fault of the platform: when that is the host's doing. Pure. */
import type { WorkspaceId } from "@holdfast/contract";

/** `lost`: by the platform, never by the user's code. `well`: it served its command to whatever end. */
export type SandboxFate = "lost" | "well";

/** One workspace alone may have found a way to lose its own. */
const LOST_MAX = 3;
const WORKSPACES_MIN = 2;
/** More of the row need not be kept: only how many they are, and of how many workspaces. */
const KEPT_MAX = 100;

/** The workspaces of the latest losses, after one more sandbox has ended. */
export function afterEnd(
  row: readonly WorkspaceId[],
  workspace_id: WorkspaceId,
  fate: SandboxFate,
): readonly WorkspaceId[] {
  return fate === "well" ? [] : [...row, workspace_id].slice(-KEPT_MAX);
}

export function isTooMuch(row: readonly WorkspaceId[]): boolean {
  return row.length >= LOST_MAX && new Set(row).size >= WORKSPACES_MIN;
}
