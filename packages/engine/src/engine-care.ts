/** An engine for those who only tidy up in it: makes no container and no volume, and needs neither agent nor images. */
import { type FleetId, type HostId, TIMES } from "@holdfast/contract";
import type { Engine, EngineNotice } from "./engine.js";
import { createEngineConnection } from "./engine-connection.js";
import { hostOf } from "./host-identity.js";
import { removalLane } from "./lane.js";
import { createSweeper } from "./sweep.js";

export interface EngineCareOptions {
  /** Path of the engine's socket; it need not be there yet. */
  readonly socket_path: string;
  readonly fleet_id: FleetId;
  onNotice?(notice: EngineNotice): void;
}

export interface EngineCare extends Pick<Engine, "ping" | "sweep" | "list"> {
  /** Which host of the fleet it is; null where it never was one. Throws EngineAway where it cannot be asked. */
  identify(): Promise<HostId | null>;
}

/** Asks nothing yet: the engine may come and go. */
export function openEngineCare({ socket_path, fleet_id, onNotice }: EngineCareOptions): EngineCare {
  const connection = createEngineConnection(socket_path);
  const sweeper = createSweeper({
    connection,
    fleet_id,
    boot_id: null,
    removals: removalLane(),
    in_hand: new Set(),
    notice: (notice) => onNotice?.(notice),
  });
  return {
    ping: () => connection.ping(TIMES.engine_ping_deadline_ms),
    sweep: (facts) => sweeper.sweep(facts),
    list: () => sweeper.list(),
    identify: () => hostOf(connection, fleet_id),
  };
}
