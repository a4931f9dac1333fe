/** Versions of our images that this machine's allow list names no more. */
import { parseImageList } from "@holdfast/contract";
import { type Holding, openEstate, unlistedImages } from "@holdfast/engine";
import { type CommandContext, type FleetOptions, withClient } from "../command-context.js";
import { CommandFault } from "../command-fault.js";
import { engineSocket } from "../up/engine-check.js";
import { readListFile } from "./list-file.js";
import { listPath } from "./local-images.js";

export interface ImageFate {
  readonly name: string;
  /** A container may use it still. */
  readonly removed: boolean;
}

function offeredBy(options: FleetOptions, context: CommandContext): Promise<string[]> {
  return withClient(context, options, async (client) =>
    (await client.hosts()).flatMap((host) => host.images.map(({ image }) => image)),
  );
}

/** An older version than the listed ones, say: of a repository that the list names, and offered by no host. */
async function unlisted(
  options: FleetOptions,
  context: CommandContext,
  images: readonly Holding[],
): Promise<Holding[]> {
  const path = await listPath(context);
  const file = readListFile(path);
  if (file === null) throw new CommandFault("platform", `${path}: no such list, so that no image counts as unlisted`);
  const allowed = parseImageList(JSON.stringify(file.list)).images.map(({ image }) => image);
  return unlistedImages(images, allowed, await offeredBy(options, context));
}

/** Removes them, or names them only. */
export async function removeUnlisted(
  options: FleetOptions,
  context: CommandContext,
  dry_run: boolean,
): Promise<ImageFate[]> {
  const estate = openEstate(engineSocket(context.env) ?? "");
  const fates: ImageFate[] = [];
  for (const image of await unlisted(options, context, await estate.images())) {
    fates.push({ name: image.name, removed: !dry_run && (await estate.remove(image)) });
  }
  return fates;
}
