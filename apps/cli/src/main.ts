import type { Writable } from "node:stream";
import { runCli } from "./cli.js";

const code = await runCli(process.argv.slice(2));

/** Resolves when all that was written has left this process, or its reader has gone away. */
const flushed = (stream: Writable): Promise<void> => new Promise((resolve) => stream.write("", () => resolve()));

await Promise.all([process.stdout, process.stderr].map(flushed));
// A closed connection to Redis may hold the process for seconds more.
process.exit(code);
