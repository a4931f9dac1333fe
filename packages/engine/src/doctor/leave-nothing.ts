/**
 * A doctor works in a fleet of its own, drawn for each run, so that no worker ever takes its things for the fleet's.
 * What one made is removed at its end; what a killed one left, by the next one, once it is older than any of them gets.
 */
import { drawFleetId, type FleetId, fleetIdSchema, TIMES } from "@holdfast/contract";
import { listContainers } from "../container-calls.js";
import { LABELS } from "../container-name.js";
import { endContainer } from "../container-removal.js";
import type { EngineConnection } from "../engine-connection.js";
import { readEngineClock } from "../engine-facts.js";
import { reader } from "../json-reader.js";

const PREFIX = "doctor_";
/** Longer than the longest lifetime of anything that a doctor makes. */
const ABANDONED_MS = 3_600_000;

export function drawDoctorFleet(): FleetId {
  return fleetIdSchema.parse(drawFleetId().replace(/^[a-z]+_/, PREFIX));
}

type Chosen = (fleet: string, created_ms: number) => boolean;

async function endContainers(connection: EngineConnection, chosen: Chosen): Promise<void> {
  const found = await listContainers(connection, [LABELS.fleet]);
  if (found.kind === "failed") return;
  const ours = found.value.filter(({ labels, created_at_ms }) => chosen(labels[LABELS.fleet] ?? "", created_at_ms));
  for (const { id, state } of ours) await endContainer(connection, id, state);
}

async function removeVolumes(connection: EngineConnection, chosen: Chosen): Promise<number> {
  const list = await connection.ask({
    ...{ method: "GET", path: "/volumes", query: { filters: JSON.stringify({ label: [LABELS.fleet] }) } },
    ...{ deadline_ms: TIMES.engine_call_ms, idempotent: true },
  });
  if (list.kind === "failed") return 0;
  let failures = 0;
  for (const volume of reader(list.value).list("Volumes")) {
    const created_ms = Date.parse(volume.text("CreatedAt") ?? "");
    if (!chosen(volume.texts("Labels")[LABELS.fleet] ?? "", created_ms)) continue;
    const path = `/volumes/${volume.text("Name")}`;
    const reply = await connection.ask({
      ...{ method: "DELETE", path, deadline_ms: TIMES.engine_call_ms, idempotent: true },
    });
    if (reply.kind === "failed" && reply.failure.kind !== "not_found") failures += 1;
  }
  return failures;
}

/** Removes all that this run made. Answers how many volumes the engine did not let go. */
export async function leaveNothing(connection: EngineConnection, fleet_id: FleetId): Promise<number> {
  const own: Chosen = (fleet) => fleet === fleet_id;
  await endContainers(connection, own);
  return removeVolumes(connection, own);
}

/** Removes what earlier runs left that were killed. Ages are judged by the engine's own clock. */
export async function removeAbandoned(connection: EngineConnection): Promise<void> {
  const now = await readEngineClock(connection);
  if (now.kind === "failed") return;
  const old: Chosen = (fleet, created_ms) => fleet.startsWith(PREFIX) && now.value - created_ms > ABANDONED_MS;
  await endContainers(connection, old);
  await removeVolumes(connection, old);
}
