import type { RetainReport } from "@holdfast/worker";
import type { Command } from "commander";
import { addDataOption, type CommandContext, FAIL_FAST_MS, type FleetOptions } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import { findFleet } from "../fleet-address.js";
import type { ImageFate } from "../images/unlisted.js";
import { facts, span } from "../output/table.js";

interface RetentionOptions extends FleetOptions {
  readonly dryRun?: boolean;
  readonly images?: boolean;
  readonly json?: boolean;
}

function imageLine({ name, removed }: ImageFate, dry_run: boolean): [string, string] {
  return ["image", `${name} ${dry_run ? "would go" : removed ? "removed" : "stays: a container uses it"}`];
}

function linesOf(report: RetainReport, images: readonly ImageFate[], dry_run: boolean): string[] {
  const { records_max, record_ms, output_ms, records_min_ms, jobs_max } = report.settings;
  const number = records_max === 0 ? "any number" : `${records_max} a workspace`;
  const gone = (removed: number, left: number): string => (dry_run ? `${left} would go` : `${removed} removed`);
  return facts([
    ["records", `${report.records} found, ${gone(report.records_removed, report.records_left)}`],
    ["finished jobs", gone(report.jobs_removed, report.jobs_left)],
    ...images.map((image) => imageLine(image, dry_run)),
    ["kept", `records ${span(record_ms)}, ${number} (those below ${span(records_min_ms)} all the same)`],
    ["", `output ${span(output_ms)}, finished jobs ${jobs_max}`],
  ]);
}

async function unlistedRemoved(options: FleetOptions, context: CommandContext, dry_run: boolean): Promise<ImageFate[]> {
  const { removeUnlisted } = await import("../images/unlisted.js");
  return removeUnlisted(options, context, dry_run);
}

async function retention(options: RetentionOptions, context: CommandContext): Promise<number> {
  const { retainOnce } = await import("@holdfast/worker");
  const dry_run = options.dryRun === true;
  const fleet = findFleet(context.config, options.data);
  const report = await retainOnce({ ...fleet, fail_fast_ms: FAIL_FAST_MS, dry_run });
  const images = options.images === true ? await unlistedRemoved(options, context, dry_run) : [];
  const json = JSON.stringify({ dry_run, ...report, images });
  const lines = options.json === true ? [json] : linesOf(report, images, dry_run);
  for (const line of lines) context.console.line(line);
  return EXIT.ok;
}

export function addRetention(program: Command, context: CommandContext): void {
  addDataOption(program.command("retention").summary("remove what was kept long enough"))
    .description(
      "Remove what was kept long enough, all of it at once: records of ended tasks beyond a workspace's number, and " +
        "finished jobs. Workers and supervisors do the same all the time; images go by this command alone.",
    )
    .option("--images", "versions of our images that this machine's allow list names no more as well")
    .option("--dry-run", "count what would go and remove nothing")
    .option("--json", "one JSON object")
    .action(async (options: RetentionOptions) => context.exit(await retention(options, context)));
}
