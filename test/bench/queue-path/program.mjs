// Runs one of the programs of the queue benches from its TypeScript; the packages it uses are the built ones.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const [, , name] = process.argv;
await runnerImport(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), { configFile: false, logLevel: "error" });
