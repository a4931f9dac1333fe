/** What a full pool costs a worker that has nothing to do: memory for each sandbox that waits, and time of a core. */
import { pause } from "@holdfast/chassis";
import { type BenchFleet, startBenchFleet } from "../fleet.js";
import { percentiles, type Row } from "../rows.js";

/** Making the first ones leaves garbage that is not collected at once, so one pool is compared with a larger one. */
const SOME = 10;
const MANY = 30;
const SETTLE_MS = 15_000;
const WATCHED_MS = 30_000;

interface Idle {
  readonly memory_mb: number;
  /** Per cent of one core. */
  readonly cpu: number;
}

async function idle(image: string, count: number): Promise<Idle> {
  const keys = Array.from({ length: count }, () => `${image}:0.5:16m`).join();
  const fleet = await startBenchFleet({ HOLDFAST_POOL: "0", HOLDFAST_POOL_KEYS: keys });
  try {
    await fleet.poolReady(count);
    await pause(SETTLE_MS);
    const before = fleet.workerCpuMs();
    await pause(WATCHED_MS);
    return { memory_mb: fleet.workerMemoryMb(), cpu: ((fleet.workerCpuMs() - before) / WATCHED_MS) * 100 };
  } finally {
    await fleet.stop();
  }
}

export async function benchIdlePool({ image }: BenchFleet): Promise<Row[]> {
  const [none, two] = [await idle(image, 0), await idle(image, 2)];
  const [some, many] = [await idle(image, SOME), await idle(image, MANY)];
  const each = Math.max(0, many.memory_mb - some.memory_mb) / (MANY - SOME);
  const row = { baseline: null, note: "" };
  return [
    {
      ...row,
      id: "pool-memory",
      what: "memory of the worker for each sandbox that waits",
      unit: "MB",
      ours: percentiles([each]),
      ratio: each,
      goal: "<= 1 MB",
      met: each <= 1,
      note: `resident: ${[none, some, many].map(({ memory_mb }) => memory_mb.toFixed(0)).join(", ")} MiB with 0, ${SOME}, ${MANY}`,
    },
    {
      ...row,
      id: "pool-idle",
      what: "time of one core of an idle worker with a full pool of two",
      unit: "%",
      ours: percentiles([two.cpu]),
      ratio: two.cpu / none.cpu,
      goal: "<= 1 % of one core",
      met: two.cpu <= 1,
      note: `no pool ${none.cpu.toFixed(2)} %, ${MANY} waiting ${many.cpu.toFixed(2)} %, over ${WATCHED_MS / 1_000} s each`,
    },
  ];
}
