/** What the sweep needs of an open engine, over any connection; the parts it never touches refuse to be used. */
import { type BootId, drawHostId, type FleetId } from "@holdfast/contract";
import type { EngineConnection } from "../../packages/engine/src/engine-connection.js";
import type { EngineHost } from "../../packages/engine/src/engine-host.js";
import { createLane } from "../../packages/engine/src/lane.js";

export const REMOVALS_MAX = 3;
const REMOVAL_YIELDS_MS = 15_000;

export interface SweepHostOptions {
  readonly connection: EngineConnection;
  readonly fleet_id: FleetId;
  readonly boot_id: BootId;
  readonly in_hand?: Set<string>;
}

export function sweepHost({ connection, fleet_id, boot_id, in_hand = new Set() }: SweepHostOptions): EngineHost {
  return {
    connection,
    fleet_id,
    boot_id,
    in_hand,
    host_id: drawHostId(),
    removals: createLane(REMOVALS_MAX, REMOVAL_YIELDS_MS),
    creations: createLane(1),
    facts: { engine_version: "", api_version: "", cgroup_version: 1, cpus: 1, memory_mb: 1, runtimes: [] },
    agent: { path: "", content: Buffer.alloc(0), sha256: "" },
    seccomp: "",
    own_namespaces: {},
    open_link: () => {
      throw new Error("a sweep opens no link");
    },
    closing: new AbortController().signal,
    notice: () => {},
  };
}
