/** Which host this engine is: kept in the engine as the label of a named volume, since engine ids get cloned. */
import { drawHostId, type FleetId, type HostId, hostIdSchema, TIMES } from "@holdfast/contract";
import { hostVolumeName, LABELS } from "./container-name.js";
import { createEngineConnection, type EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok, valueIn } from "./engine-failure.js";
import { reader } from "./json-reader.js";

function readVolume(connection: EngineConnection, name: string): Promise<EngineReply<unknown>> {
  return connection.ask({
    method: "GET",
    path: `/volumes/${name}`,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
}

/** True only where the engine itself says that it never was a host of this fleet. */
export async function isNewHost(socketPath: string, fleetId: FleetId): Promise<boolean> {
  const kept = await readVolume(createEngineConnection(socketPath), hostVolumeName(fleetId));
  return kept.kind === "failed" && kept.failure.kind === "not_found";
}

/** Reads the host's id, or draws it. Workers that open at the same moment agree: a volume is made once. */
export async function identifyHost(connection: EngineConnection, fleetId: FleetId): Promise<EngineReply<HostId>> {
  const name = hostVolumeName(fleetId);
  const made = await connection.ask({
    method: "POST",
    path: "/volumes/create",
    body: { Name: name, Labels: { [LABELS.fleet]: fleetId, [LABELS.host]: drawHostId() } },
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  if (made.kind === "failed") return made;
  return readHost(connection, fleetId);
}

/** The host's id as it is kept; fails as `not_found` where the engine never was a host of this fleet. */
async function readHost(connection: EngineConnection, fleetId: FleetId): Promise<EngineReply<HostId>> {
  const name = hostVolumeName(fleetId);
  const kept = await readVolume(connection, name);
  if (kept.kind === "failed") return kept;
  const labels = reader(kept.value).texts("Labels");
  const host = hostIdSchema.safeParse(labels[LABELS.host]);
  if (labels[LABELS.fleet] === fleetId && host.success) return ok(host.data);
  return failed({ kind: "unexpected", detail: `volume ${name} is not the host volume of this fleet` });
}

/** Which host of the fleet the engine is; null where it never was one. Throws EngineAway where it cannot be asked. */
export async function hostOf(connection: EngineConnection, fleetId: FleetId): Promise<HostId | null> {
  const kept = await readHost(connection, fleetId);
  return kept.kind === "failed" && kept.failure.kind === "not_found" ? null : valueIn(kept);
}
