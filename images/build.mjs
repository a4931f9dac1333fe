#!/usr/bin/env node
/** `node images/build.mjs [--socket PATH]... [--no-load] [name]...`: builds images and loads them into engines. */
import { parseArgs } from "node:util";
import { buildImage } from "./build-image.mjs";
import { engineSocket, loadImage } from "./engine-socket.mjs";
import { recipeNames } from "./recipe.mjs";

async function main() {
  const { values, positionals } = parseArgs({
    options: { socket: { type: "string", multiple: true }, "no-load": { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const sockets = values["no-load"] ? [] : (values.socket ?? [engineSocket()]);
  for (const name of positionals.length > 0 ? positionals : recipeNames()) {
    const built = await buildImage(name);
    const states = [];
    for (const socket of sockets) states.push(await loadImage(socket, built));
    const size = `${(built.bytes / 1_000_000).toFixed(1)} MB`;
    console.log([built.image, built.id, size, built.from, ...states].join("  "));
  }
}

main().catch((error) => {
  console.error(`images: ${error.message}`);
  process.exitCode = 1;
});
