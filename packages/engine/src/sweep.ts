/** One pass over the engine's containers of this fleet and host, in every state, after sweep-decision.ts. */
import { type ListedContainer, listContainers } from "./container-calls.js";
import { LABELS } from "./container-name.js";
import { endContainer } from "./container-removal.js";
import type { FoundSandbox, SweepCounts, SweepFacts } from "./engine.js";
import { readEngineClock } from "./engine-facts.js";
import type { EngineFailure, EngineReply } from "./engine-failure.js";
import type { EngineHost } from "./engine-host.js";
import { decideSweep } from "./sweep-decision.js";

/** The engine could not be asked; the cause tells why. */
export class EngineAway extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(`the engine could not be asked: ${failure.kind}`);
    this.name = "EngineAway";
    this.failure = failure;
  }
}

function valueIn<T>(reply: EngineReply<T>): T {
  if (reply.kind === "failed") throw new EngineAway(reply.failure);
  return reply.value;
}

export interface Sweeper {
  sweep(facts: SweepFacts): Promise<SweepCounts>;
  list(): Promise<FoundSandbox[]>;
}

export function createSweeper(host: EngineHost): Sweeper {
  const removingSince = new Map<string, number>();
  const fleet = `${LABELS.fleet}=${host.fleet_id}`;

  async function remove(container: ListedContainer, why: string): Promise<boolean> {
    const receipt = await host.removals.run(() => endContainer(host.connection, container.id, container.state));
    host.notice({
      event: "swept",
      container_state: container.state,
      why,
      proven: receipt.proven,
      name: container.name,
    });
    return receipt.proven;
  }

  function remember(containers: readonly ListedContainer[], now_ms: number): void {
    const removing = new Set(containers.filter(({ state }) => state === "removing").map(({ id }) => id));
    for (const id of removingSince.keys()) if (!removing.has(id)) removingSince.delete(id);
    for (const id of removing) if (!removingSince.has(id)) removingSince.set(id, now_ms);
  }

  return {
    async sweep(facts) {
      // The clock is read first: a container made after it is younger than it looks, never older.
      const now_ms = valueIn(await readEngineClock(host.connection));
      const containers = valueIn(await listContainers(host.connection, [fleet]));
      remember(containers, now_ms);
      const view = {
        ...facts,
        boot_id: host.boot_id,
        in_hand: host.in_hand,
        now_ms,
        removingSince: (id: string) => removingSince.get(id) ?? now_ms,
      };
      const decided = containers.map((container) => ({ container, decision: decideSweep(container, view) }));
      const results = await Promise.all(
        decided.map(({ container, decision }) =>
          decision.kind === "remove" ? remove(container, decision.why) : Promise.resolve(null),
        ),
      );
      return {
        seen: containers.length,
        removed: results.filter((result) => result === true).length,
        failed: results.filter((result) => result === false).length,
        stuck: decided.filter(({ decision }) => decision.kind === "wait" && decision.stuck).length,
      };
    },

    async list() {
      const now_ms = valueIn(await readEngineClock(host.connection));
      const containers = valueIn(await listContainers(host.connection, [fleet]));
      return containers.map(({ labels, state, created_at_ms }) => ({
        sandbox_id: labels[LABELS.sandbox] ?? "",
        boot_id: labels[LABELS.boot] ?? "",
        purpose: labels[LABELS.purpose] ?? "",
        state,
        age_ms: Math.max(0, now_ms - created_at_ms),
      }));
    },
  };
}
