/** What an engine holds of a fleet, and what it holds that is not ours: the two halves of Q1 after every test file. */
import { existsSync, readFileSync } from "node:fs";
import { byLabels, engineAsk } from "./engine-call.js";

const FLEET_LABEL = "holdfast.fleet";
/** Marks what a test run of its own places in the engine; other runs look past it. */
export const TEST_OWNER_LABEL = "holdfast-test.owner";

export interface FoundContainer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface EngineCensus {
  readonly containers: readonly FoundContainer[];
  readonly volumes: readonly string[];
  readonly networks: readonly string[];
}

interface ContainerRow {
  Id: string;
  Names: string[];
  State: string;
  Labels: Record<string, string> | null;
}

async function containers(socket: string, query: string): Promise<FoundContainer[]> {
  const rows = (await engineAsk(socket, "GET", `/containers/json?all=1&${query}`)) as ContainerRow[];
  return rows.map((row) => ({
    id: row.Id,
    name: (row.Names[0] ?? "").replace(/^\//, ""),
    state: row.State,
    labels: row.Labels ?? {},
  }));
}

async function volumes(socket: string, query: string): Promise<string[]> {
  const { Volumes } = (await engineAsk(socket, "GET", `/volumes?${query}`)) as { Volumes: { Name: string }[] | null };
  return (Volumes ?? []).map((volume) => volume.Name).sort();
}

async function networks(socket: string, query: string): Promise<string[]> {
  const rows = (await engineAsk(socket, "GET", `/networks?${query}`)) as { Id: string; Name: string }[];
  return rows.map((network) => `${network.Name} ${network.Id}`).sort();
}

/** Everything in the engine that bears this fleet's label. */
export async function engineCensus(socket: string, fleet_id: string): Promise<EngineCensus> {
  const query = byLabels(`${FLEET_LABEL}=${fleet_id}`);
  return {
    containers: await containers(socket, query),
    volumes: await volumes(socket, query),
    networks: await networks(socket, query),
  };
}

/** What belongs to nobody of ours. Each line names one thing; a thing replaced by a twin is another line. */
export async function foreignCensus(socket: string): Promise<string[]> {
  const found = await containers(socket, "");
  const foreign = found.filter(
    (container) => !(FLEET_LABEL in container.labels) && !(TEST_OWNER_LABEL in container.labels),
  );
  return [
    ...foreign.map((container) => `container ${container.name} ${container.id}`),
    ...(await networks(socket, "")).map((name) => `network ${name}`),
    ...bridge(),
  ];
}

/** The index of an interface changes when it is deleted and made again. */
function bridge(): string[] {
  const file = "/sys/class/net/docker0/ifindex";
  return existsSync(file) ? [`bridge docker0 ${readFileSync(file, "utf8").trim()}`] : [];
}
