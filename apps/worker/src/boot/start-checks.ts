/** What a worker refuses to start on, each with what it saw and what would be accepted. */
import { AMOUNT_KEYS, type Amount, type FleetId, HoldfastError, PIDS_OVERHEAD } from "@holdfast/contract";
import type { Engine, EngineFacts } from "@holdfast/engine";
import type { Ledger, RegisterReply, ServerProblem } from "@holdfast/ledger";
import type { WorkerConfig } from "../config.js";

/** A start that was refused: the message is for the operator. */
export class StartRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StartRefused";
  }
}

/** Promised beyond what the host has: most tasks wait most of the time. */
const CPU_PROMISED = 2;
const MEMORY_PROMISED = 0.75;
const SLOTS_PER_CORE = 2;
/** Enough for the default request in every slot, with room for larger ones. */
const PIDS_PER_SLOT = 512 + PIDS_OVERHEAD;

export function defaultLimits(facts: Pick<EngineFacts, "cpus" | "memory_mb">): Amount {
  const slots = Math.max(1, Math.floor(facts.cpus * SLOTS_PER_CORE));
  return {
    slots,
    cpu_milli: Math.max(1_000, Math.floor(facts.cpus * CPU_PROMISED * 1_000)),
    memory_mb: Math.floor(facts.memory_mb * MEMORY_PROMISED),
    pids: Math.max(4_096, slots * PIDS_PER_SLOT),
  };
}

/** Null where the operator set none: then what the host's first worker fixed holds. */
export function wantedLimits(config: WorkerConfig, defaults: Amount): Amount | null {
  const { HOLDFAST_SLOTS, HOLDFAST_CPU, HOLDFAST_MEMORY_MB, HOLDFAST_PIDS } = config;
  const set = [HOLDFAST_SLOTS, HOLDFAST_CPU, HOLDFAST_MEMORY_MB, HOLDFAST_PIDS].some((value) => value !== undefined);
  if (!set) return null;
  const slots = HOLDFAST_SLOTS ?? defaults.slots;
  return {
    slots,
    cpu_milli: HOLDFAST_CPU === undefined ? defaults.cpu_milli : Math.round(HOLDFAST_CPU * 1_000),
    memory_mb: HOLDFAST_MEMORY_MB ?? defaults.memory_mb,
    pids: HOLDFAST_PIDS ?? Math.max(defaults.pids, slots * PIDS_PER_SLOT),
  };
}

const show = (amount: Amount): string => AMOUNT_KEYS.map((key) => `${key}=${amount[key]}`).join(" ");

/** Whether a setting accepts it. */
export function isAllowed(config: WorkerConfig, { problem }: ServerProblem): boolean {
  if (problem === "aof") return config.HOLDFAST_ALLOW_NO_AOF;
  if (problem === "policy") return config.HOLDFAST_ALLOW_EVICTION;
  return false;
}

/** A Redis that could lose or drop accepted work is refused unless a setting accepts it. */
export async function checkServer(
  ledger: Pick<Ledger, "serverProblems">,
  config: WorkerConfig,
): Promise<ServerProblem[]> {
  const problems = await ledger.serverProblems();
  const refused = problems.filter((problem) => !isAllowed(config, problem));
  if (refused.length === 0) return problems;
  const told = refused.map(({ message, setting }) => {
    if (setting === null || message.includes(setting)) return message;
    return `${message} (${setting}=true accepts it)`;
  });
  throw new StartRefused(told.join("; "));
}

/** The fleet of this ledger; refused where another is wanted. `born` as Ledger.fleet takes it. */
export async function joinFleet(
  ledger: Pick<Ledger, "fleet">,
  wanted: FleetId | null,
  born: boolean,
): Promise<FleetId> {
  const { fleet_id } = await ledger.fleet(wanted, born);
  if (wanted === null || wanted === fleet_id) return fleet_id;
  throw new StartRefused(`HOLDFAST_FLEET is ${wanted}; this ledger is of the fleet ${fleet_id}`);
}

export function checkImages(engine: Pick<Engine, "images" | "refused_images">): void {
  if (engine.images.length > 0) return;
  const why = engine.refused_images.map(({ image, reason }) => `${image}: ${reason}`).join("; ");
  const told = `no image of the allow list can be offered here: ${why || "the list is empty"}`;
  throw new StartRefused(`${told}; ./scripts/setup builds and loads those that belong to Holdfast`);
}

/** The limits in force, or a refusal that shows both values. */
export function checkRegistered(reply: RegisterReply): Extract<RegisterReply, { kind: "registered" }> {
  switch (reply.kind) {
    case "registered":
      return reply;
    case "limits_differ":
      throw new StartRefused(
        `this host's limits are recorded as ${show(reply.recorded)}; this worker offers ${show(reply.offered)}`,
      );
    case "image_differs":
      throw new StartRefused(
        `the fleet knows ${reply.image} as ${reply.recorded}; this host holds ${reply.offered}: load the same image`,
      );
  }
}

/** Errors that another start would meet again. */
export function isRefusal(error: unknown): boolean {
  return error instanceof StartRefused || (error instanceof HoldfastError && !error.retryable);
}
