/** What this machine knows of its own: its allow list, and what its engine has of it. */
import { type AllowedImage, imageListSchema } from "@holdfast/contract";
import type { CommandContext } from "../command-context.js";
import { engineSocket } from "../up/engine-check.js";
import type { LocalImage } from "./image-views.js";
import { readListFile } from "./list-file.js";

/** Path of the list that a worker started here would read. */
export async function listPath(context: CommandContext): Promise<string> {
  const { readWorkerConfig } = await import("@holdfast/worker");
  return readWorkerConfig(context.env).HOLDFAST_IMAGES;
}

/** Null where no engine answers here. */
export async function lookHere(
  context: CommandContext,
  list: readonly AllowedImage[],
): Promise<readonly LocalImage[] | null> {
  const socket = engineSocket(context.env);
  if (socket === null) return null;
  const { lookAtImages } = await import("@holdfast/engine");
  const looks = await lookAtImages(socket, list);
  if (looks === null) return null;
  return looks.map((look, index) => ({
    image: list[index]?.image ?? "",
    held: look.kind === "known" ? [look.image.digest, look.image.id] : [],
    refusal: look.kind === "known" ? null : look.reason,
    absent: look.kind === "refused" && look.absent,
  }));
}

/** Empty where this machine has no list that can be read, or no engine. */
export async function localImages(context: CommandContext): Promise<readonly LocalImage[]> {
  try {
    const file = readListFile(await listPath(context));
    if (file === null) return [];
    return (await lookHere(context, imageListSchema.parse(file.list).images)) ?? [];
  } catch {
    return [];
  }
}
