/** The images that sandboxes of the lab use, as an archive taken once from the engine that the run was given. */
import { createWriteStream } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { scratchFolder } from "../../support/scratch.js";
import { worldEngineSocket } from "./given-world.js";

export const SHELL_IMAGE = "holdfast/shell:1";

let taken: Promise<{ archive: string; folder: string }> | null = null;

async function take(): Promise<{ archive: string; folder: string }> {
  const folder = scratchFolder("archive");
  const archive = join(folder, "images.tar");
  const path = `/images/get?names=${encodeURIComponent(SHELL_IMAGE)}`;
  await new Promise<void>((resolve, reject) => {
    const call = request({ socketPath: worldEngineSocket(), path, signal: AbortSignal.timeout(60_000) }, (reply) => {
      if (reply.statusCode === 200) pipeline(reply, createWriteStream(archive)).then(resolve, reject);
      else reject(new Error(`${SHELL_IMAGE} is not in the engine: ${reply.statusCode}`));
    });
    call.on("error", reject);
    call.end();
  });
  return { archive, folder };
}

export async function imageArchive(): Promise<string> {
  taken ??= take();
  return (await taken).archive;
}
