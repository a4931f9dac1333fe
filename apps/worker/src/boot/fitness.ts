/**
 * Whether this process may take tasks on its host, as far as it has proved that. Kept by the process, so that a boot
 * which follows another need not prove again what was proved an hour ago at most.
 */
import type { WorkspaceId } from "@holdfast/contract";
import { afterEnd, isTooMuch, type SandboxFate } from "./losses.js";

/** Stands beside the names of checks where sandboxes were lost one after the other. */
export const SANDBOXES_LOST = "sandboxes_lost";

export interface Fitness {
  /** Names of what failed; empty where the host is fit. */
  readonly failed: readonly string[];
  /** True where proof is older than asked for, or there is none. */
  isDue(now_ms: number): boolean;
  /** A self check was done at `now_ms`; `failed` names what it found. */
  judged(failed: readonly string[], now_ms: number): void;
  /** A sandbox of a task has ended. True where it was one lost too many. */
  sandboxEnded(workspace_id: WorkspaceId, fate: SandboxFate, now_ms: number): boolean;
  /** What failed may have passed: it is looked at again as soon as possible. */
  askAgain(): void;
}

export interface FitnessTimes {
  /** Between proofs; 0 asks for none. */
  readonly every_ms: number;
  /** After a failure. */
  readonly retry_ms: number;
  /** 0.9 to 1.1, so that the hosts of a fleet do not prove themselves all at once. */
  jitter(): number;
}

export function createFitness({ every_ms, retry_ms, jitter }: FitnessTimes): Fitness {
  let failed: readonly string[] = [];
  let losses: readonly WorkspaceId[] = [];
  let due_ms = every_ms === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;

  return {
    get failed() {
      return failed;
    },
    isDue: (now_ms) => now_ms >= due_ms,
    judged: (names, now_ms) => {
      failed = names;
      if (names.length === 0) losses = [];
      const calm_ms = every_ms === 0 ? Number.POSITIVE_INFINITY : every_ms * jitter();
      due_ms = now_ms + (names.length === 0 ? calm_ms : retry_ms);
    },
    sandboxEnded: (workspace_id, fate, now_ms) => {
      losses = afterEnd(losses, workspace_id, fate);
      if (every_ms === 0 || failed.length > 0 || !isTooMuch(losses)) return false;
      failed = [SANDBOXES_LOST];
      due_ms = now_ms + retry_ms;
      return true;
    },
    askAgain: () => {
      if (failed.length > 0) due_ms = Number.NEGATIVE_INFINITY;
    },
  };
}
