/** P5: the whole queue path over an engine that costs nothing, beside bare BullMQ on the same Redis. */
import { percentiles, type Row } from "../rows.js";
import type { Batch } from "./place.js";
import { type Fsync, type Program, type Rig, startRig } from "./rig.js";

const ROUNDS = 5;
const WARM_UP = 1;
const TASKS = 3_000;
const BARE_JOBS = 10_000;
/** Tasks that run at once, and submissions under way at once. */
const CONCURRENCY = 64;
const RATE_MIN = 1_000;
const RATIO_MIN = 0.15;

const batchOf = (name: string, count: number): Batch => ({ name, count, workspaces: 10, window: CONCURRENCY });

async function rateOf(producer: Program, batch: Batch, ended: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await producer.submit(batch);
  await ended();
  return (batch.count * 1_000) / (performance.now() - begun);
}

interface Measured {
  readonly ours: number[];
  readonly bare: number[];
  /** Microseconds of CPU that a task of ours takes of Redis, worker and producer: what a busy machine changes least. */
  readonly cpu_us: readonly number[];
}

async function measure(rig: Rig): Promise<Measured> {
  const [worker, producer] = [await rig.start("worker"), await rig.start("producer")];
  const [bareWorker, bareProducer] = [await rig.start("bare-worker"), await rig.start("bare-producer")];
  const rates = { ours: [] as number[], bare: [] as number[] };
  const used_ms = async () => [await rig.redisCpuMs(), worker.cpuMs(), producer.cpuMs()];
  const cpu_ms = [0, 0, 0];
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    const bare = await rateOf(bareProducer, batchOf(`b${round}`, BARE_JOBS), rig.jobsEnd);
    const before = await used_ms();
    const ours = await rateOf(producer, batchOf(`t${round}`, TASKS), rig.tasksEnd);
    const after = await used_ms();
    if (round < WARM_UP) continue;
    for (const [at, used] of after.entries()) cpu_ms[at] = (cpu_ms[at] ?? 0) + used - (before[at] ?? 0);
    rates.bare.push(bare);
    rates.ours.push(ours);
  }
  for (const program of [worker, producer, bareWorker, bareProducer]) await program.stop();
  return { ...rates, cpu_us: cpu_ms.map((used) => (used * 1_000) / (ROUNDS * TASKS)) };
}

async function rowOf(fsync: Fsync, judged: boolean): Promise<Row> {
  const rig = await startRig(fsync, CONCURRENCY);
  try {
    const rates = await measure(rig);
    const [own, baseline] = [percentiles(rates.ours), percentiles(rates.bare)];
    const ratio = own.p50 / baseline.p50;
    return {
      id: "P5",
      what: `whole queue path, engine that costs nothing, appendfsync ${fsync}`,
      unit: "tasks/s",
      ours: own,
      baseline,
      ratio,
      goal: judged ? `>= ${RATE_MIN} tasks/s and >= ${RATIO_MIN} x` : "none: what a weaker promise would bring",
      met: !judged || (own.p50 >= RATE_MIN && ratio >= RATIO_MIN),
      note:
        `baseline: bare BullMQ add -> no-op -> finished; ${CONCURRENCY} at once, one producer and one worker each; CPU of ` +
        `one of our tasks in Redis, worker, producer: ${rates.cpu_us.map((us) => us.toFixed(0)).join(", ")} us`,
    };
  } finally {
    await rig.stop();
  }
}

export async function benchRate(): Promise<Row[]> {
  return [await rowOf("always", true), await rowOf("everysec", false)];
}
