import type { HostView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { poolLines } from "../output/pool-lines.js";
import { listing } from "../output/table.js";

interface HostsOptions extends FleetOptions {
  readonly json?: boolean;
}

/** What any of its workers found failed; each proves the host for itself. */
function selfCheckOf(live: HostView["boots"]): string {
  const failed = [...new Set(live.flatMap(({ failed_checks }) => failed_checks))];
  if (failed.length > 0) return `failed: ${failed.join(",")}`;
  return live.length === 0 ? "-" : "ok";
}

function rowOf(host: HostView): string[] {
  const used = (key: "slots" | "cpu_milli" | "memory_mb"): string => `${host.reserved[key]}/${host.limits[key]}`;
  const live = host.boots.filter((boot) => boot.state !== "DEAD");
  return [
    host.host_id,
    host.draining ? "drained" : "in service",
    host.engine_healthy ? "healthy" : "sick",
    selfCheckOf(live),
    String(live.length),
    used("slots"),
    used("cpu_milli"),
    used("memory_mb"),
    host.images.map(({ image }) => image).join(","),
  ];
}

const HEADINGS = [
  "HOST",
  "STATE",
  "ENGINE",
  "SELF-CHECK",
  "WORKERS",
  "SLOTS",
  "CPU (1/1000)",
  "MEMORY (MiB)",
  "IMAGES",
];

async function showHosts(options: HostsOptions, context: CommandContext): Promise<number> {
  const hosts = await withClient(context, options, (client) => client.hosts());
  for (const line of listing(hosts, options.json, HEADINGS, rowOf)) context.console.line(line);
  const pools = options.json === true ? [] : poolLines(hosts);
  for (const line of pools.length === 0 ? [] : ["", ...pools]) context.console.line(line);
  return EXIT.ok;
}

export function addHosts(program: Command, context: CommandContext): void {
  const command = program.command("hosts").summary("list hosts, what they offer and what is reserved");
  addDataOption(command)
    .description("List hosts, what they offer, what is reserved, and what waits warm.")
    .option("--json", "one JSON object a line")
    .action(async (options: HostsOptions) => context.exit(await showHosts(options, context)));
}
