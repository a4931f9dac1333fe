/** What one open engine knows and shares among its parts. Facts are taken once, when it is opened. */
import type { BootId, FleetId, HostId } from "@holdfast/contract";
import type { AgentProgram, OpenGuestLink } from "@holdfast/guest";
import type { EngineFacts, EngineNotice } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";
import type { Lane } from "./lane.js";

export interface EngineHost {
  readonly connection: EngineConnection;
  readonly facts: EngineFacts;
  readonly fleet_id: FleetId;
  readonly host_id: HostId;
  readonly boot_id: BootId;
  readonly agent: AgentProgram;
  readonly seccomp: string;
  readonly own_namespaces: Readonly<Record<string, string>>;
  readonly open_link: OpenGuestLink;
  readonly creations: Lane;
  readonly removals: Lane;
  /** Containers in use or being made or removed by this engine's own hands, by name, beside what a worker holds. */
  readonly in_hand: Set<string>;
  /** Aborted when the engine is closed. */
  readonly closing: AbortSignal;
  notice(notice: EngineNotice): void;
}
