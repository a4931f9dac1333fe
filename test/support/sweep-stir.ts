/** What happens in a world of boots beside sweeps: containers come, move and are let go, boots die or are forgotten. */
import { type BootId, drawHostId, drawSandboxId, type FleetId, TIMES } from "@holdfast/contract";
import { createContainer, startContainer } from "../../packages/engine/src/container-calls.js";
import { containerName, labelsOf } from "../../packages/engine/src/container-name.js";
import type { EngineConnection } from "../../packages/engine/src/engine-connection.js";
import type { Sweeper } from "../../packages/engine/src/sweep.js";
import type { Chance } from "./chance.js";
import type { FakeEngine } from "./fake-engine.js";
import type { Fate, OracleBoot, SweepOracle } from "./sweep-oracle.js";

export interface WorldBoot extends OracleBoot {
  readonly boot_id: BootId;
  readonly connection: EngineConnection;
  readonly sweeper: Sweeper;
}

export interface Stage {
  readonly chance: Chance;
  readonly engine: FakeEngine;
  readonly fleet_id: FleetId;
  readonly boots: readonly WorldBoot[];
  readonly oracle: SweepOracle;
}

const LIFETIMES_SECONDS = [1, 60, 3_600, 130_000, 130_000, 130_000] as const;
const TURNS: Readonly<Record<Fate, readonly Fate[]>> = {
  live: ["draining", "dead_young", "absent"],
  draining: ["dead_young", "absent"],
  dead_young: ["dead_old"],
  dead_old: ["dead_old"],
  absent: ["absent"],
};

/** Also for a boot that is gone: its request may have been on the way. Whether it hears the reply is chance. */
export async function make({ chance, fleet_id }: Stage, boot: WorldBoot): Promise<void> {
  const sandbox_id = drawSandboxId();
  const name = containerName(boot.boot_id, sandbox_id, 1);
  const kept = chance.pick(["held", "held", "in_hand", "forgotten"] as const);
  if (kept === "held") boot.held.add(sandbox_id);
  if (kept === "in_hand") boot.in_hand.add(name);
  const lifetime_seconds = chance.pick(LIFETIMES_SECONDS);
  const identity = { fleet_id, host_id: drawHostId(), boot_id: boot.boot_id, sandbox_id, lifetime_seconds };
  const body = { Labels: labelsOf({ ...identity, purpose: "task" }) };
  const made = await createContainer(boot.connection, name, body);
  if (made.kind === "ok" && chance.once(0.8)) {
    await startContainer(boot.connection, made.value.id, TIMES.engine_call_ms);
  }
}

/** One container moves by itself, by its maker's doing or by somebody's beside us. */
export function drift(stage: Stage): void {
  const { chance, engine, oracle } = stage;
  const container = chance.maybe(engine.containers());
  if (container === null || container.state === "removing") return;
  const { boot, sandbox_id } = oracle.ownerOf(container);
  const next = chance.pick(["start", "start", "pause", "exit", "die", "let_go", "let_go", "taken"] as const);
  if (next === "start" && container.state === "created") engine.put(container.id, "running");
  if (next === "pause" && container.state === "running") engine.put(container.id, "paused");
  if (next === "exit" && container.state === "running") engine.put(container.id, "exited");
  if (next === "die" && container.state === "exited") engine.put(container.id, "dead");
  if (next === "taken" && container.state === "exited") engine.put(container.id, null);
  if (next !== "let_go") return;
  boot.held.delete(sandbox_id);
  boot.in_hand.delete(container.name);
}

/** Two boots stay, so that somebody sweeps; DEAD never turns back. */
export function turn({ boots, chance }: Stage): void {
  const boot = chance.maybe(boots.slice(2));
  if (boot !== null) boot.fate = chance.pick(TURNS[boot.fate]);
}
