/** A world of boots on one engine in memory, moved by chance: what they make, hold, drop and leave, and who dies. */
import { drawBootId, drawFleetId } from "@holdfast/contract";
import type { SweepFacts } from "../../packages/engine/src/engine.js";
import { connectionOver } from "../../packages/engine/src/engine-connection.js";
import { EngineAway } from "../../packages/engine/src/engine-failure.js";
import { createSweeper } from "../../packages/engine/src/sweep.js";
import type { Chance } from "./chance.js";
import { createFakeEngine, type Trouble } from "./fake-engine.js";
import { sweepHost } from "./sweep-host.js";
import { createSweepOracle, type SweepOracle } from "./sweep-oracle.js";
import { drift, make, type Stage, turn, type WorldBoot } from "./sweep-stir.js";

export interface SweepWorld {
  readonly boots: readonly WorldBoot[];
  readonly oracle: SweepOracle;
  /** Passes that found the engine away. */
  readonly away: number;
  /** Something happens: a container comes, moves or is dropped, or a boot's fate turns. */
  stir(): Promise<void>;
  pass(by: WorldBoot): Promise<void>;
  /** All creations are over and nothing goes wrong any more. */
  rest(): void;
  /** What no sweep may leave, in words. */
  leftovers(): string[];
}

/** How long a look at the ledger's boots may be used. */
const LOOK_MS_MAX = 5_000;
const SERIOUS = ["busy", "unreachable", "reply_lost"] as const;

function troubleFor(verb: string, chance: Chance): Trouble {
  const isAsked = verb === "info" || verb === "version" || verb === "list";
  return {
    ...(chance.once(0.1) ? { delay_ms: chance.below(300) } : {}),
    ...(chance.once(isAsked ? 0.01 : 0.06) ? { fate: chance.pick(SERIOUS) } : {}),
    ...(chance.once(0.3) ? { lag_ms: chance.below(1_000) } : {}),
    ...(chance.once(0.15) ? { removal_ms: chance.once(0.05) ? 70_000 : chance.below(2_000) } : {}),
    removal_fails: chance.once(0.05),
  };
}

/** `now` is the engine's own clock, milliseconds. */
export function createSweepWorld(chance: Chance, now: () => number): SweepWorld {
  const fleet_id = drawFleetId();
  const boots: WorldBoot[] = [];
  const oracle = createSweepOracle(boots, now);
  let away = 0;
  let resting = false;
  let look: { readonly at_ms: number; readonly known: ReadonlySet<string> } | null = null;

  const engine = createFakeEngine({
    now,
    onEffect: oracle.judge,
    trouble(verb) {
      if (resting) return {};
      if (chance.once(0.1)) drift(stage);
      return troubleFor(verb, chance);
    },
  });
  const stage: Stage = { chance, engine, fleet_id, boots, oracle };

  function join(): void {
    const boot_id = drawBootId();
    const in_hand = new Set<string>();
    const connection = connectionOver(engine.caller(boot_id));
    const sweeper = createSweeper(sweepHost({ connection, fleet_id, boot_id, in_hand }));
    boots.push({ boot_id, fate: "live", held: new Set(), in_hand, connection, sweeper });
  }

  function factsFor(by: WorldBoot): SweepFacts {
    const known = new Set(boots.filter(({ fate }) => fate !== "absent").map(({ boot_id }) => boot_id));
    const isFresh = look !== null && now() - look.at_ms < LOOK_MS_MAX;
    if (look === null || !isFresh || chance.once(0.5)) look = { at_ms: now(), known };
    const dead_boots = new Set(boots.filter(({ fate }) => fate === "dead_old").map(({ boot_id }) => boot_id));
    const hasLooked = resting || chance.once(0.9);
    return { dead_boots, held: by.held, ...(hasLooked ? { known_boots: look.known } : {}) };
  }

  for (let count = 0; count < 3; count++) join();
  return {
    boots,
    oracle,
    get away() {
      return away;
    },
    async stir() {
      if (boots.length < 12 && chance.once(0.3)) join();
      if (chance.once(0.4)) turn(stage);
      for (let count = chance.below(6); count > 0; count--) await make(stage, chance.pick(boots));
      for (let count = chance.below(3); count > 0; count--) drift(stage);
    },
    async pass(by) {
      try {
        await by.sweeper.sweep(factsFor(by));
      } catch (error) {
        if (!(error instanceof EngineAway)) throw error;
        away += 1;
      }
    },
    rest() {
      resting = true;
      for (const { in_hand } of boots) in_hand.clear();
    },
    leftovers: () => oracle.leftovers(engine.containers()),
  };
}
