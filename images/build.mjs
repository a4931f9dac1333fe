#!/usr/bin/env node
/** `node images/build.mjs [options] [name]...`: builds images and loads them into engines; see images/README.md. */
import { parseArgs } from "node:util";
import { buildImage } from "./build-image.mjs";
import { engineSocket, loadImage } from "./engine-socket.mjs";
import { differencesFromLock, LOCKS, writeLock } from "./lock.mjs";
import { usualNames } from "./recipe.mjs";

const OPTIONS = {
  /** An engine to load into; repeatable. */
  socket: { type: "string", multiple: true },
  "no-load": { type: "boolean", default: false },
  /** Refuse package versions other than the locked ones. */
  locked: { type: "boolean", default: false },
  /** Lock the versions of this build. */
  lock: { type: "boolean", default: false },
  /** Folder of the locks. */
  locks: { type: "string", default: LOCKS },
};

function judgePackages({ locked, lock, locks }) {
  return (recipe, packages) => {
    if (lock) return writeLock(recipe, packages, locks);
    const differences = differencesFromLock(recipe, packages, locks);
    if (differences.length === 0) return undefined;
    const told = `${recipe.image} is not as locked: ${differences.join(", ")}`;
    if (locked) throw new Error(told);
    return console.error(`images: ${told}`);
  };
}

async function main() {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const sockets = values["no-load"] ? [] : (values.socket ?? [engineSocket()]);
  for (const name of positionals.length > 0 ? positionals : usualNames()) {
    const built = await buildImage(name, { onPackages: judgePackages(values) });
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
