/** P4 and the burst: many one-shots at once with a pool of two, beside the engine's own best rate. */
import { bare, bareOptions } from "../cold.js";
import { type BenchFleet, startBenchFleet } from "../fleet.js";
import { percentiles, type Row } from "../rows.js";

const TASKS = 40;
const BURST = 100;
const POOL = 2;
/** Engines make the most containers a second with a few under way. */
const PARALLEL = [2, 3, 4] as const;

/** Containers a second, `parallel` at once. */
async function bareRate(fleet: BenchFleet, options: Awaited<ReturnType<typeof bareOptions>>, parallel: number) {
  let left = TASKS;
  const begun = performance.now();
  const serve = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await bare(fleet.docker, options);
    }
  };
  await Promise.all(Array.from({ length: parallel }, serve));
  return TASKS / ((performance.now() - begun) / 1_000);
}

/** All at once; the time that each took, and the rate up to the last slot that is free again. */
async function ourRate(fleet: BenchFleet, count: number) {
  await fleet.slotsFree();
  await fleet.poolReady(POOL);
  const begun = performance.now();
  const ran = await Promise.all(
    Array.from({ length: count }, async () => {
      const { task_id } = await fleet.client.submit({ image: fleet.image, command: ["true"] });
      const { status, warm } = await fleet.client.outcome(task_id);
      if (status !== "SUCCEEDED") throw new Error(`bench task ended ${status}`);
      return { warm, took: performance.now() - begun };
    }),
  );
  await fleet.slotsFree();
  return { ran, rate: count / ((performance.now() - begun) / 1_000) };
}

async function onOwnFleet<T>({ image }: BenchFleet, work: (fleet: BenchFleet) => Promise<T>): Promise<T> {
  const fleet = await startBenchFleet({ HOLDFAST_POOL: String(POOL), HOLDFAST_IMAGE: image });
  return work(fleet).finally(fleet.stop);
}

export async function benchSustained(bench: BenchFleet): Promise<Row[]> {
  const { bares, rates } = await onOwnFleet(bench, async (fleet) => {
    const options = await bareOptions(fleet);
    const [bares, rates]: [number[], number[]] = [[], []];
    for (const parallel of PARALLEL) {
      bares.push(await bareRate(fleet, options, parallel));
      rates.push((await ourRate(fleet, TASKS)).rate);
    }
    return { bares, rates };
  });
  const ratio = Math.max(...rates) / Math.max(...bares);
  return [
    {
      id: "P4",
      what: `sustained rate of one-shots \`true\`, ${TASKS} at once`,
      unit: "tasks/s",
      ours: percentiles(rates),
      baseline: percentiles(bares),
      ratio,
      goal: "best >= 0.95 x the best",
      met: ratio >= 0.95,
      note: `baseline: bare create + attach + start + wait + remove, same HostConfig, ${PARALLEL.join(", ")} at once`,
    },
  ];
}

export async function benchBurst(bench: BenchFleet): Promise<Row[]> {
  const { ran, rate, best } = await onOwnFleet(bench, async (fleet) => {
    const options = await bareOptions(fleet);
    const best = await bareRate(fleet, options, 3);
    return { ...(await ourRate(fleet, BURST)), best };
  });
  const warm = ran.filter((each) => each.warm).map(({ took }) => took);
  const ratio = rate / best;
  return [
    {
      id: "P4-burst",
      what: `a burst of ${BURST} one-shots: pool hits`,
      unit: "ms",
      ours: percentiles(warm),
      baseline: null,
      ratio,
      goal: "the rest at >= 0.95 x the engine's rate",
      met: ratio >= 0.95,
      note: `${warm.length} warm of ${BURST}, counted from the first submit; ${rate.toFixed(2)} tasks/s beside ${best.toFixed(2)} bare`,
    },
  ];
}
