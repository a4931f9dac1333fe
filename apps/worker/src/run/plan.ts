/** What an ending asks for. Pure: task-run.ts does it. */
import type { Ending } from "./endings.js";

export type Plan =
  /** Written once as the task's end. `destroy_first` where the sandbox could not vouch for itself. */
  | { readonly kind: "settle"; readonly destroy_first: boolean }
  /** Handed back. `counted` against attempts_max where user code may have run and nobody but the platform failed it. */
  | {
      readonly kind: "requeue";
      readonly reason: string;
      readonly counted: boolean;
      readonly wait: "gone" | "permission";
    }
  /** No right to write: the ledger knows better. */
  | { readonly kind: "abandon"; readonly reason: string };

export function planOf(ending: Ending, ran: boolean): Plan {
  switch (ending.kind) {
    case "exit":
    case "cancel":
      return { kind: "settle", destroy_first: false };
    case "time_limit":
      return { kind: "settle", destroy_first: true };
    case "guest_lost":
      if (ran) return { kind: "settle", destroy_first: true };
      return { kind: "requeue", reason: "sandbox_lost", counted: false, wait: "gone" };
    case "lease_lost":
      return { kind: "requeue", reason: "lease_lost", counted: ran, wait: "gone" };
    case "engine_lost":
      return { kind: "requeue", reason: "engine_lost", counted: false, wait: "permission" };
    case "shutdown":
      return { kind: "requeue", reason: "drain", counted: false, wait: "gone" };
    case "abandon":
      return { kind: "abandon", reason: ending.reason };
  }
}
