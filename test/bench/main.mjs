// Runs the benches from their TypeScript; the programs they measure are the built ones.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const { module } = await runnerImport(fileURLToPath(new URL("bench.ts", import.meta.url)), {
  configFile: false,
  logLevel: "error",
});
process.exitCode = await module.bench(process.argv.slice(2));
