/** `npm run bench [-- --json] [-- P2 P6]`: measures ours beside the baseline in one run and prints ratios. */
import { benchCancel } from "./cancel.js";
import { benchCold } from "./cold.js";
import { type BenchFleet, startBenchFleet } from "./fleet.js";
import { benchLogs } from "./logs.js";
import { type Row, renderRows } from "./rows.js";

const BENCHES: Record<string, (fleet: BenchFleet) => Promise<Row[]>> = {
  P2: benchCold,
  P6: benchLogs,
  P7: benchCancel,
};

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const json = words.includes("--json");
  const wanted = words.filter((word) => !word.startsWith("--"));
  const unknown = wanted.filter((id) => !(id in BENCHES));
  if (unknown.length > 0) {
    console.error(`no bench ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
    process.exitCode = 2;
    return;
  }
  const fleet = await startBenchFleet();
  try {
    for (const [id, bench] of Object.entries(BENCHES)) {
      if (wanted.length > 0 && !wanted.includes(id)) continue;
      const rows = await bench(fleet);
      console.log(json ? rows.map((row) => JSON.stringify(row)).join("\n") : renderRows(rows));
    }
  } finally {
    await fleet.stop();
  }
}

await main();
