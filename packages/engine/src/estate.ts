/** What fleets keep in an engine, or left there: found by label, images by name, and removed where somebody says so. */
import { type FleetId, type HostId, repositoryOf, TIMES } from "@holdfast/contract";
import { listContainers } from "./container-calls.js";
import { agentVolumePrefix, LABELS } from "./container-name.js";
import { endContainer } from "./container-removal.js";
import { createEngineConnection, type EngineConnection } from "./engine-connection.js";
import { readEngineClock } from "./engine-facts.js";
import { type EngineReply, valueIn } from "./engine-failure.js";
import { hostOf } from "./host-identity.js";
import { reader } from "./json-reader.js";
import { isAlive } from "./sweep-decision.js";

/** Every image that `images/` builds is named so. */
const OUR_IMAGES = "holdfast/";
/** A program of before may still be about to use its volume. */
const AGENT_VOLUME_MS_MIN = 24 * 3_600_000;

export interface Holding {
  readonly kind: "container" | "volume" | "image";
  readonly name: string;
  /** Images belong to no fleet. */
  readonly fleet_id: string | null;
  /** A container in which something may run. */
  readonly alive: boolean;
  /** By the engine's own clock; null where it does not tell. */
  readonly created_at_ms: number | null;
  /** State of a container. */
  readonly state: string;
}

export interface Estate {
  /** Which host of the fleet the engine is; null where it never was one. */
  hostOf(fleet_id: FleetId): Promise<HostId | null>;
  /** Containers and volumes that bear a fleet's label, of every fleet where none is named. */
  find(fleet_id: FleetId | null): Promise<Holding[]>;
  /** Images that bear our name, by name and tag. */
  images(): Promise<Holding[]>;
  /** True where it is gone. What a container uses stays, and so does a container whose end was not proven. */
  remove(holding: Holding): Promise<boolean>;
}

function read(connection: EngineConnection, path: string, filters: object): Promise<EngineReply<unknown>> {
  const query = { filters: JSON.stringify(filters) };
  return connection.ask({ method: "GET", path, query, deadline_ms: TIMES.engine_call_ms, idempotent: true });
}

async function containersOf(connection: EngineConnection, label: string): Promise<Holding[]> {
  return valueIn(await listContainers(connection, [label])).map((container) => ({
    kind: "container",
    name: container.name,
    fleet_id: container.labels[LABELS.fleet] ?? null,
    alive: isAlive(container),
    created_at_ms: container.created_at_ms,
    state: container.state,
  }));
}

async function volumesOf(connection: EngineConnection, label: string): Promise<Holding[]> {
  const answer = reader(valueIn(await read(connection, "/volumes", { label: [label] })));
  return answer.list("Volumes").map((volume) => {
    const created = Date.parse(volume.text("CreatedAt") ?? "");
    return {
      kind: "volume",
      name: volume.text("Name") ?? "",
      fleet_id: volume.texts("Labels")[LABELS.fleet] ?? null,
      alive: false,
      created_at_ms: Number.isNaN(created) ? null : created,
      state: "",
    };
  });
}

async function imagesOf(connection: EngineConnection): Promise<Holding[]> {
  const rows = valueIn(await read(connection, "/images/json", { reference: [`${OUR_IMAGES}*`] }));
  const tags = (Array.isArray(rows) ? rows : []).flatMap((row) => reader(row).list("RepoTags"));
  const names = tags.map(({ raw }) => String(raw)).filter((name) => name.startsWith(OUR_IMAGES));
  const nobodys = { kind: "image", fleet_id: null, alive: false, created_at_ms: null, state: "" } as const;
  return names.toSorted().map((name) => ({ ...nobodys, name }));
}

const PATHS = { volume: "/volumes/", image: "/images/" } as const;

async function remove(connection: EngineConnection, { kind, name, state }: Holding): Promise<boolean> {
  if (kind === "container") return (await endContainer(connection, name, state)).proven;
  const path = `${PATHS[kind]}${name}`;
  const reply = await connection.ask({
    method: "DELETE",
    path,
    deadline_ms: TIMES.engine_remove_ms,
    idempotent: true,
  });
  return reply.kind === "ok" || reply.failure.kind === "not_found";
}

/** Every call throws EngineAway where the engine cannot be asked. */
export function openEstate(socketPath: string): Estate {
  const connection = createEngineConnection(socketPath);
  return {
    hostOf: (fleet_id) => hostOf(connection, fleet_id),
    find: async (fleet_id) => {
      const label = fleet_id === null ? LABELS.fleet : `${LABELS.fleet}=${fleet_id}`;
      return [...(await containersOf(connection, label)), ...(await volumesOf(connection, label))];
    },
    images: () => imagesOf(connection),
    remove: (holding) => remove(connection, holding),
  };
}

/** Of a repository that the allow list names, those versions that neither it nor `kept` names. */
export function unlistedImages(
  images: readonly Holding[],
  allowed: readonly string[],
  kept: readonly string[],
): Holding[] {
  const repositories = new Set(allowed.map(repositoryOf));
  const named = new Set([...allowed, ...kept]);
  return images.filter(({ name }) => repositories.has(repositoryOf(name)) && !named.has(name));
}

/** Volumes of agents other than the one named, old enough that no program of before can be about to use one. */
export function oldAgentVolumes(
  found: readonly Holding[],
  own: { readonly fleet_id: FleetId; readonly volume: string; readonly now_ms: number },
): Holding[] {
  return found.filter(({ kind, name, created_at_ms }) => {
    if (kind !== "volume" || !name.startsWith(agentVolumePrefix(own.fleet_id)) || name === own.volume) return false;
    return created_at_ms !== null && own.now_ms - created_at_ms > AGENT_VOLUME_MS_MIN;
  });
}

/** Removes them as far as no container uses them; answers how many went. Throws EngineAway. */
export async function removeOldAgentVolumes(
  connection: EngineConnection,
  own: { readonly fleet_id: FleetId; readonly volume: string },
): Promise<number> {
  const now_ms = valueIn(await readEngineClock(connection));
  const found = await volumesOf(connection, `${LABELS.fleet}=${own.fleet_id}`);
  let removed = 0;
  for (const volume of oldAgentVolumes(found, { ...own, now_ms })) {
    if (await remove(connection, volume)) removed += 1;
  }
  return removed;
}
