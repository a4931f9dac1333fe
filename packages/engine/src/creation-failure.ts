/** What a caller is told about a sandbox that did not come to be: codes of ours, never a word of the engine. */
import { type Evidence, type TaskError, taskError } from "@holdfast/contract";
import type { EngineFailure } from "./engine-failure.js";

/** Why one creation try failed. */
export type TryFailure =
  | { readonly kind: "engine"; readonly step: CreationStep; readonly failure: EngineFailure }
  /** Created, but with a limit the engine did not apply. */
  | { readonly kind: "warned"; readonly detail: string }
  /** Process 1 ended, or said nothing in time. */
  | { readonly kind: "no_hello"; readonly detail: string }
  /** Process 1 is not the agent we delivered. */
  | { readonly kind: "other_agent" }
  | { readonly kind: "posture"; readonly deviations: readonly string[] };

export type CreationStep = "create" | "attach" | "start" | "inspect";

const DEVIATIONS_SHOWN = 8;

/** True where another try could end otherwise. */
export function mayTryAgain(failure: TryFailure): boolean {
  switch (failure.kind) {
    case "engine":
      // A refused start may be the agent's volume, which is looked after between tries.
      return failure.step !== "create" || failure.failure.kind !== "refused";
    case "no_hello":
    case "other_agent":
      return true;
    case "warned":
    case "posture":
      return false;
  }
}

export function errorOf(failure: TryFailure, tries: number): TaskError {
  const evidence: Evidence = { tries, failed_at: failure.kind };
  switch (failure.kind) {
    case "engine":
      return taskError("ENGINE_UNAVAILABLE", {
        evidence: { ...evidence, step: failure.step, engine: failure.failure.kind },
      });
    case "no_hello":
      return taskError("SANDBOX_LOST", { evidence });
    case "warned":
    case "other_agent":
      return taskError("POSTURE_UNVERIFIED", { evidence });
    case "posture": {
      const controls = failure.deviations.slice(0, DEVIATIONS_SHOWN).join(" ");
      return taskError("POSTURE_UNVERIFIED", {
        evidence: { ...evidence, controls, deviations: failure.deviations.length },
      });
    }
  }
}

/** For an operator's log. */
export function detailOf(failure: TryFailure): string {
  switch (failure.kind) {
    case "engine":
      return `${failure.step}: ${failure.failure.kind}: ${failure.failure.detail}`;
    case "warned":
    case "no_hello":
      return failure.detail;
    case "other_agent":
      return "process 1 is not the agent that was delivered";
    case "posture":
      return failure.deviations.join(" ");
  }
}
