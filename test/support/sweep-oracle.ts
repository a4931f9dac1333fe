/**
 * Says of everything that was ended in a world of boots whether it might be (E2, L4), and of what is left whether it
 * may stay (E1). It knows the truth of that world and nothing of how a sweep decides.
 */
import { TIMES } from "@holdfast/contract";
import { LABELS } from "../../packages/engine/src/container-name.js";
import type { FakeContainer, FakeEffect } from "./fake-engine.js";

/** `dead_young`: DEAD, but not long enough for others to act on. `absent`: the ledger lost its record. */
export type Fate = "live" | "draining" | "dead_young" | "dead_old" | "absent";

export interface OracleBoot {
  readonly boot_id: string;
  fate: Fate;
  readonly held: Set<string>;
  readonly in_hand: Set<string>;
}

interface Owned {
  readonly boot: OracleBoot;
  readonly sandbox_id: string;
  readonly lifetime_seconds: number;
}

export type Right = "own" | "boot_dead" | "lifetime" | "absent_at_rest";

const isAlive = ({ state }: FakeContainer): boolean => state === "running" || state === "paused";
const ageOf = ({ created_at_ms }: FakeContainer, now_ms: number): number => now_ms - created_at_ms;
const isOver = (container: FakeContainer, owned: Owned, now_ms: number): boolean =>
  ageOf(container, now_ms) > owned.lifetime_seconds * 1_000;

/** By what right `effect` came about at `now_ms` of the engine's clock; null where there was none. */
function rightOf({ kind, container, by }: FakeEffect, owned: Owned, now_ms: number): Right | null {
  const { boot, sandbox_id } = owned;
  const isHeld = boot.held.has(sandbox_id) || boot.in_hand.has(container.name);
  if (by === boot.boot_id && !isHeld) return "own";
  if (boot.fate === "dead_old") return "boot_dead";
  if (isOver(container, owned, now_ms)) return "lifetime";
  const isOld = ageOf(container, now_ms) > TIMES.dead_man_bound_ms;
  return boot.fate === "absent" && kind === "removed" && isOld ? "absent_at_rest" : null;
}

/** True where the sweeps of all boots that live leave nothing of this kind, once the world rests. */
function mustGo(container: FakeContainer, owned: Owned, now_ms: number): boolean {
  const { boot, sandbox_id } = owned;
  if (isOver(container, owned, now_ms)) return true;
  switch (boot.fate) {
    case "live":
    case "draining":
      return !boot.held.has(sandbox_id) && !boot.in_hand.has(container.name);
    case "dead_old":
      return true;
    case "dead_young":
      return false;
    case "absent":
      return !isAlive(container) && ageOf(container, now_ms) > TIMES.dead_man_bound_ms;
  }
}

export interface SweepOracle {
  readonly made: number;
  /** Removals by the right they came about. */
  readonly removals: Readonly<Record<Right, number>>;
  /** In words. */
  readonly false_kills: readonly string[];
  judge(effect: FakeEffect): void;
  ownerOf(container: FakeContainer): Owned;
  /** Which of `containers` no sweep may leave, in words. */
  leftovers(containers: readonly FakeContainer[]): string[];
}

/** `now` is the engine's own clock, milliseconds; `boots` may grow. */
export function createSweepOracle(boots: readonly OracleBoot[], now: () => number): SweepOracle {
  const owners = new Map<string, Owned>();
  const removals: Record<Right, number> = { own: 0, boot_dead: 0, lifetime: 0, absent_at_rest: 0 };
  const false_kills: string[] = [];

  function ownerOf({ id }: FakeContainer): Owned {
    const owned = owners.get(id);
    if (owned === undefined) throw new Error(`nobody owns ${id}`);
    return owned;
  }

  function own({ id, labels }: FakeContainer, by: string): void {
    const boot = boots.find(({ boot_id }) => boot_id === by);
    if (boot === undefined) throw new Error("nobody made a container");
    const lifetime_seconds = Number(labels[LABELS.lifetime]);
    owners.set(id, { boot, sandbox_id: labels[LABELS.sandbox] ?? "", lifetime_seconds });
  }

  function say(container: FakeContainer): string {
    const { boot, sandbox_id, lifetime_seconds } = ownerOf(container);
    const hold = boot.held.has(sandbox_id) ? "held" : "not held";
    const age_ms = ageOf(container, now());
    return `${container.state}, ${hold}, boot ${boot.fate}, ${age_ms} ms old, lifetime ${lifetime_seconds} s`;
  }

  return {
    removals,
    false_kills,
    ownerOf,
    get made() {
      return owners.size;
    },
    judge(effect) {
      const { container, kind, by } = effect;
      if (kind === "created") return own(container, by);
      const owned = ownerOf(container);
      const right = rightOf(effect, owned, now());
      const who = by === owned.boot.boot_id ? "its own boot" : "another";
      if (right === null) false_kills.push(`${kind} by ${who}: ${say(container)}`);
      else if (kind === "removed") removals[right] += 1;
    },
    leftovers: (containers) =>
      containers.filter((container) => mustGo(container, ownerOf(container), now())).map((container) => say(container)),
  };
}
