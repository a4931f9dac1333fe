/** `npm run bench [-- --json] [-- P2 P6]`: measures ours beside the baseline in one run and prints ratios. */
import { benchCancel } from "./cancel.js";
import { benchCold } from "./cold.js";
import { type BenchFleet, socketPath, startBenchFleet } from "./fleet.js";
import { benchLogs } from "./logs.js";
import { benchIdlePool } from "./pool/idle.js";
import { benchBurst, benchSustained } from "./pool/rate.js";
import { benchWarm } from "./pool/warm.js";
import { benchMany } from "./queue-path/bench-many.js";
import { benchRate } from "./queue-path/bench-rate.js";
import { benchSubmit } from "./queue-path/bench-submit.js";
import { benchRecovery, benchWarmRecovery } from "./recovery.js";
import { type Row, renderRows } from "./rows.js";

const BENCHES: Record<string, (fleet: BenchFleet) => Promise<Row[]>> = {
  P1: benchWarm,
  P2: benchCold,
  P4: benchSustained,
  "P4-burst": benchBurst,
  P5: benchRate,
  "P5-many": benchMany,
  "P5-submit": benchSubmit,
  P6: benchLogs,
  P7: benchCancel,
  P8: benchRecovery,
  "P8-warm": benchWarmRecovery,
  "pool-idle": benchIdlePool,
};

/** Runs the benches named in `words`, all without any; the exit code is 2 where there is no such bench. */
export async function bench(words: readonly string[]): Promise<number> {
  const json = words.includes("--json");
  const wanted = words.filter((word) => !word.startsWith("--"));
  const unknown = wanted.filter((id) => !(id in BENCHES));
  if (unknown.length > 0) {
    console.error(`no bench ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
    return 2;
  }
  process.env["HOLDFAST_TEST_ENGINE_SOCKET"] ??= socketPath();
  const fleet = await startBenchFleet();
  try {
    for (const [id, run] of Object.entries(BENCHES)) {
      if (wanted.length > 0 && !wanted.includes(id)) continue;
      const rows = await run(fleet);
      console.log(json ? rows.map((row) => JSON.stringify(row)).join("\n") : renderRows(rows));
    }
  } finally {
    await fleet.stop();
  }
  return 0;
}
