/** Removes from this machine's engine what bears a fleet's label, and our images where that is asked for. */
import { type FleetId, fleetIdSchema, type HostView } from "@holdfast/contract";
import { type Estate, type Holding, openEstate } from "@holdfast/engine";
import { openLedger } from "@holdfast/ledger";
import { type CommandContext, FAIL_FAST_MS, type FleetOptions } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { dataFolderAt, readPrivateFile } from "../data-folder/data-folder.js";
import { EXIT } from "../exit-codes.js";
import { findFleet } from "../fleet-address.js";
import { table } from "../output/table.js";
import { checkEngine, engineSocket } from "../up/engine-check.js";
import { refusalOf } from "./refusal.js";

export interface PurgeOptions extends FleetOptions {
  readonly fleet?: string;
  readonly allFleets?: boolean;
  readonly images?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** Empty where no ledger is at hand or none answers. */
async function hostsOf(options: PurgeOptions, context: CommandContext): Promise<readonly HostView[]> {
  try {
    const { redis_url: url, prefix } = findFleet(context.config, options.data);
    const ledger = await openLedger({ url, prefix, role: "purge", fail_fast_ms: FAIL_FAST_MS });
    try {
      return await ledger.hosts.list();
    } finally {
      await ledger.close();
    }
  } catch {
    return [];
  }
}

function fleetIdOf(text: string): FleetId {
  const parsed = fleetIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new CommandFault("usage", `${text} is no fleet id: ${parsed.error.issues[0]?.message}`);
}

/** As named, else the data folder's, and never a guess: what goes is gone. Null means every fleet. */
function wantedFleet(options: PurgeOptions, context: CommandContext, here: readonly string[]): FleetId | null {
  if (options.allFleets === true) return null;
  const folder = dataFolderAt(options.data ?? context.config.HOLDFAST_DATA);
  const named = options.fleet ?? context.env["HOLDFAST_FLEET"] ?? readPrivateFile(folder.fleet_file);
  if (named !== null && named !== undefined && named !== "") return fleetIdOf(named);
  const found = here.length === 0 ? "none has anything here" : `here are ${here.join(", ")}`;
  throw new CommandFault("usage", `name the fleet by --fleet or --data, or say --all-fleets; ${found}`);
}

async function livesHere(estate: Estate, fleets: readonly string[], hosts: readonly HostView[]) {
  const known_fleets = new Set<string>();
  const live_boots: string[] = [];
  for (const fleet of fleets) {
    const host_id = await estate.hostOf(fleetIdOf(fleet));
    const host = hosts.find((view) => host_id !== null && view.host_id === host_id);
    if (host === undefined) continue;
    known_fleets.add(fleet);
    const live = host.boots.filter(({ state, lease_left_ms }) => state !== "DEAD" && lease_left_ms > 0);
    live_boots.push(...live.map(({ boot_id }) => boot_id));
  }
  return { known_fleets, live_boots };
}

/** What would go. Throws a CommandFault where that is refused. */
async function planned(estate: Estate, options: PurgeOptions, context: CommandContext): Promise<Holding[]> {
  const everything = await estate.find(null);
  const here = [...new Set(everything.flatMap(({ fleet_id }) => fleet_id ?? []))].toSorted();
  const fleet = wantedFleet(options, context, here);
  const found = everything.filter(({ fleet_id }) => fleet === null || fleet_id === fleet);
  const fleets = fleet === null ? here : [fleet];
  const refusal = refusalOf({
    found,
    ...(await livesHere(estate, fleets, await hostsOf(options, context))),
    images: options.images === true,
    all_fleets: options.allFleets === true,
    others_here: here.some((other) => other !== fleet),
    force: options.force === true,
  });
  if (refusal !== null && options.dryRun !== true) throw new CommandFault("platform", refusal);
  if (refusal !== null) context.console.note(`it would be refused: ${refusal}`);
  return options.images === true ? [...found, ...(await estate.images())] : found;
}

type Fate = "would go" | "removed" | "stays";

async function fateOf(estate: Estate, holding: Holding, forReal: boolean): Promise<Fate> {
  if (!forReal) return "would go";
  return (await estate.remove(holding)) ? "removed" : "stays";
}

/** Containers first: a volume or an image that one uses stays. */
export async function purge(options: PurgeOptions, context: CommandContext): Promise<number> {
  await checkEngine(context.env);
  const estate = openEstate(engineSocket(context.env) ?? "");
  const holdings = await planned(estate, options, context);
  const forReal = options.yes === true && options.dryRun !== true;
  const rows: (Holding & { fate: Fate })[] = [];
  for (const holding of holdings) rows.push({ ...holding, fate: await fateOf(estate, holding, forReal) });
  for (const line of linesOf(rows, options.json === true)) context.console.line(line);
  if (forReal) return rows.some(({ fate }) => fate === "stays") ? EXIT.platform : EXIT.ok;
  if (options.dryRun === true || rows.length === 0) return EXIT.ok;
  throw new CommandFault("usage", "nothing was removed: say --yes to remove this");
}

function linesOf(rows: readonly (Holding & { fate: Fate })[], json: boolean): string[] {
  if (json) return rows.map(({ kind, name, fleet_id, fate }) => JSON.stringify({ kind, name, fleet_id, fate }));
  if (rows.length === 0) return ["nothing to remove is in this engine"];
  const cells = rows.map(({ kind, name, fleet_id, fate }) => [kind, name, fleet_id ?? "", fate]);
  return table(["WHAT", "NAME", "FLEET", ""], cells);
}
