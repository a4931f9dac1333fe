/** One pass over the engine's containers of this fleet and host, in every state, after sweep-decision.ts. */
import { deadline } from "@holdfast/chassis";
import type { BootId } from "@holdfast/contract";
import { type ListedContainer, listContainers } from "./container-calls.js";
import { LABELS } from "./container-name.js";
import { endContainer, removeAtRest } from "./container-removal.js";
import type { FoundSandbox, SweepCounts, SweepFacts } from "./engine.js";
import { readEngineClock } from "./engine-facts.js";
import { valueIn } from "./engine-failure.js";
import type { EngineHost } from "./engine-host.js";
import { decideSweep, type SweepReason, strangerIn } from "./sweep-decision.js";

/** A removal that takes longer goes on by itself, so that one stuck container does not hold up the other ones. */
const PASS_MS_MAX = 10_000;

export interface Sweeper {
  sweep(facts: SweepFacts): Promise<SweepCounts>;
  list(): Promise<FoundSandbox[]>;
}

/** What a sweep stands on; `boot_id` is null where the sweeper makes no containers itself. */
export interface SweptHost extends Pick<EngineHost, "connection" | "fleet_id" | "removals" | "in_hand" | "notice"> {
  readonly boot_id: BootId | null;
}

export function createSweeper(host: SweptHost): Sweeper {
  const removingSince = new Map<string, number>();
  const underWay = new Map<string, Promise<boolean>>();
  const fleet = `${LABELS.fleet}=${host.fleet_id}`;

  async function end({ id, state, name }: ListedContainer, why: SweepReason): Promise<boolean> {
    const { proven } = await host.removals.run(() =>
      why === "boot_absent" ? removeAtRest(host.connection, id) : endContainer(host.connection, id, state),
    );
    host.notice({ event: "swept", container_state: state, why, proven, name });
    return proven;
  }

  function remove(container: ListedContainer, why: SweepReason): Promise<boolean> {
    const { id } = container;
    const ending = underWay.get(id) ?? end(container, why).finally(() => underWay.delete(id));
    underWay.set(id, ending);
    return deadline(ending, PASS_MS_MAX, () => false);
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
      const swept = await Promise.all(
        containers.map(async (container) => {
          const decision = decideSweep(container, view);
          const gone = decision.kind === "remove" ? await remove(container, decision.why) : null;
          return { container, decision, gone };
        }),
      );
      return {
        seen: containers.length,
        removed: swept.filter(({ gone }) => gone === true).length,
        failed: swept.filter(({ gone }) => gone === false).length,
        stuck: swept.filter(({ decision }) => decision.kind === "wait" && decision.stuck).length,
        strange: swept.flatMap(({ container, gone }) => (gone ? [] : (strangerIn(container, view) ?? []))),
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
