import type { HostView } from "@holdfast/contract";
import type { Command } from "commander";
import { addDataOption, type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { EXIT } from "../exit-codes.js";
import { allowImage, type WantedImage } from "../images/allow-list.js";
import { type ImageView, imageViews, languageOf, type Refusal } from "../images/image-views.js";
import { readListFile, writeListFile } from "../images/list-file.js";
import { listPath, localImages, lookHere } from "../images/local-images.js";
import { listing, table } from "../output/table.js";

interface ImagesOptions extends FleetOptions {
  readonly json?: boolean;
}

interface AllowOptions {
  readonly digest?: string;
  readonly pull?: boolean;
  readonly requireProgram?: string[];
  readonly requireImport?: string[];
}

const HEADINGS = ["NAME", "VERSION", "DIGEST", "LANGUAGES", "PACKAGES", "HOSTS"];
const DIGEST_CHARACTERS = "sha256:".length + 12;

const named = ([name, version]: readonly [string, string | null]): string =>
  version === null ? name : `${name} ${version}`;

function rowOf(view: ImageView): string[] {
  const { programs, imports } = view.packages;
  // Those that stand among the languages need not be told twice.
  const tools = Object.entries(programs).filter(([program]) => languageOf(program) === undefined);
  return [
    view.name,
    view.version,
    view.digest?.slice(0, DIGEST_CHARACTERS) ?? "",
    view.languages.map(({ name, version }) => named([name, version])).join(", "),
    [...tools, ...Object.entries(imports)].map(named).join(", "),
    view.hosts.join(","),
  ];
}

function linesOf(views: readonly ImageView[], json: boolean | undefined): string[] {
  if (json === true) return listing(views, json, HEADINGS, rowOf);
  const offered = views.filter(({ hosts }) => hosts.length > 0).map(rowOf);
  const where = ({ host_id }: Refusal): string => host_id ?? "this machine";
  const refused = views.flatMap(({ image, refused }) =>
    refused.map((refusal) => [image, where(refusal), refusal.reason]),
  );
  const lines = offered.length === 0 ? ["No host offers an image."] : table(HEADINGS, offered);
  return refused.length === 0 ? lines : [...lines, "", ...table(["NOT OFFERED", "WHERE", "WHY"], refused)];
}

/** Without a fleet what this machine knows is shown alone, if it knows anything. */
async function showImages(options: ImagesOptions, context: CommandContext): Promise<number> {
  const local = await localImages(context);
  const hosts = await withClient(context, options, (client) => client.hosts()).catch((error: unknown): HostView[] => {
    if (!(error instanceof CommandFault) || local.length === 0) throw error;
    context.console.note(`${error.message}; this is what this machine's engine has of its allow list`);
    return [];
  });
  for (const line of linesOf(imageViews(hosts, local), options.json)) context.console.line(line);
  return EXIT.ok;
}

async function allow(image: string, options: AllowOptions, context: CommandContext): Promise<number> {
  const path = await listPath(context);
  const file = readListFile(path) ?? { path, list: { images: [] } };
  const wanted: WantedImage = {
    ...{ image, digest: options.digest ?? null, pull: options.pull === true },
    ...{ programs: options.requireProgram ?? null, imports: options.requireImport ?? null },
  };
  // What is wrong with the name is said before any engine is asked for it.
  allowImage(file.list, { ...wanted, pull: false }, []);
  const unpinned = { image, digest: null, optional: false, pull: false, requires: { programs: [], imports: [] } };
  const here = (await lookHere(context, [unpinned]))?.[0];
  if (here?.refusal && !here.absent) throw new CommandFault("usage", `${image} cannot be offered: ${here.refusal}`);
  const held = here?.held ?? [];
  // An image that came from no registry is known by its id alone, and no registry has that.
  const pins = wanted.pull && new Set(held).size === 1 ? [] : held;
  const { kind, digest, list } = allowImage(file.list, wanted, pins);
  if (kind !== "same") writeListFile(file.path, list);
  const done = { added: "is allowed now", changed: "is allowed as told now", same: "was allowed already" }[kind];
  context.console.line(`${image} ${done}, ${digest === null ? "not pinned" : `as ${digest}`} (${path})`);
  context.console.line(nextStep(here === undefined ? "no engine answers here" : here.refusal));
  return EXIT.ok;
}

function nextStep(refusal: string | null): string {
  if (refusal === null) return "next: restart the worker; `holdfast images` shows what it found in it";
  return `next: ${refusal}: bring it into the engine of each host, then restart the workers`;
}

const collect = (value: string, earlier: string[] = []): string[] => [...earlier, value];

export function addImages(program: Command, context: CommandContext): void {
  const images = program.command("images").summary("list images and what they hold; allow one");
  addDataOption(images)
    .description("List the images that hosts offer, with what their check found in each, and those that are refused.")
    .option("--json", "one JSON object a line")
    .action(async (options: ImagesOptions) => context.exit(await showImages(options, context)));
  images
    .command("allow")
    .summary("add an image to this machine's allow list")
    .description(
      "Add an image to the allow list of this machine (HOLDFAST_IMAGES), pinned to what its engine has under that " +
        "name. May be repeated: what no option names stays as it is.",
    )
    .argument("<ref>", "name and tag, such as python:3.12-slim; not `latest`")
    .option("--digest <digest>", "pin it to this image id or registry digest")
    .option("--pull", "let workers that start pull it by that digest where their engine lacks it")
    .option("--require-program <name>", "program that it must hold; repeatable", collect)
    .option("--require-import <module>", "Python module that it must hold; repeatable", collect)
    .action(async (ref: string, options: AllowOptions) => context.exit(await allow(ref, options, context)));
}
