/**
 * P8: a worker is killed while it runs tasks on one host → its tasks run on another. Two private engines are two hosts;
 * the baseline is the engine's own create + start, which a cold recovery pays on top of finding the death.
 */
import type { TaskName } from "@holdfast/contract";
import { type LabFleet, startLabFleet } from "../faults/lab/fleet.js";
import { SHELL_IMAGE } from "../faults/lab/image-archive.js";
import type { LabWorker } from "../faults/lab/worker.js";
import { waitFor } from "../support/wait-for.js";
import type { BenchFleet } from "./fleet.js";
import { percentiles, type Row } from "./rows.js";

const ROUNDS = 6;
const TASKS = 2;
const DEATH_MS_MAX = 15_000;

async function coldStart({ docker, image }: BenchFleet): Promise<number> {
  const begun = performance.now();
  const container = await docker.createContainer({
    Image: image,
    Entrypoint: ["sleep", "60"],
    Labels: { "holdfast.bench": "bare" },
    HostConfig: { NetworkMode: "none", LogConfig: { Type: "none", Config: {} } },
  });
  await container.start();
  const took = performance.now() - begun;
  await container.remove({ v: true, force: true });
  return took;
}

async function runsAs(fleet: LabFleet, task: TaskName, attempt: number): Promise<LabWorker | null> {
  const view = await fleet.producer.view(task);
  if (view?.status !== "RUNNING" || view.attempt !== attempt || view.events < attempt * 2) return null;
  const hosts = await fleet.producer.client.hosts();
  const boots = hosts.find((host) => host.host_id === view.host_id)?.boots ?? [];
  return fleet.workers.find((worker) => boots.some((boot) => worker.boots().includes(boot.boot_id))) ?? null;
}

const running = (fleet: LabFleet, task: TaskName, attempt: number): Promise<LabWorker> =>
  waitFor(() => runsAs(fleet, task, attempt), { bound_ms: 60_000, what: `attempt ${attempt} runs`, look_ms: 20 });

async function round(fleet: LabFleet): Promise<number[]> {
  const request = {
    image: SHELL_IMAGE,
    command: ["sleep", "120"],
    resources: { cpu: 0.5, memory_mb: 64 },
  };
  const sent = await Promise.all(Array.from({ length: TASKS }, () => fleet.producer.submit(request)));
  const tasks = sent.filter((task) => task !== null);
  const owners = await Promise.all(tasks.map((task) => running(fleet, task, 1)));
  const [victim] = owners;
  if (victim === undefined) throw new Error("no task was accepted");
  const hit = tasks.filter((_, n) => owners[n] === victim);
  const begun = performance.now();
  await victim.process().kill();
  const times = await Promise.all(
    hit.map(async (task) => {
      await running(fleet, task, 2);
      return performance.now() - begun;
    }),
  );
  await Promise.all(tasks.map((task) => fleet.producer.cancel(task)));
  await Promise.all(tasks.map((task) => fleet.producer.outcome(task, 60_000)));
  await victim.start();
  return times;
}

async function measure(bench: BenchFleet, fleet: LabFleet, between: () => Promise<void>) {
  const samples: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  try {
    for (let n = 0; n < ROUNDS; n += 1) {
      samples.bare.push(await coldStart(bench));
      await between();
      samples.ours.push(...(await round(fleet)));
    }
  } finally {
    await fleet.close();
  }
  return { own: percentiles(samples.ours), baseline: percentiles(samples.bare), count: samples.ours.length };
}

export async function benchRecovery(bench: BenchFleet): Promise<Row[]> {
  const fleet = await startLabFleet({ engines: 2, workers: 2, slots: 4 });
  const { own, baseline, count } = await measure(bench, fleet, async () => {});
  return [
    {
      id: "P8",
      what: "worker killed → its tasks running on another host (cold)",
      unit: "ms",
      ours: own,
      baseline,
      ratio: own.p50 / baseline.p50,
      goal: "p99 <= 15 s + the engine's own creation time",
      met: own.p99 <= DEATH_MS_MAX + baseline.p99,
      note: `kill -9 of a worker process; ${count} tasks in ${ROUNDS} rounds; baseline: bare create + start`,
    },
  ];
}

/** As many warm sandboxes on each host as there are tasks that may come to it at once. */
async function allWarm(fleet: LabFleet): Promise<void> {
  const full = async () => {
    const live = (await fleet.producer.client.hosts()).flatMap(({ boots }) =>
      boots.filter(({ state }) => state === "LIVE"),
    );
    return (
      live.length === 2 && live.every(({ pool }) => pool.every(({ ready, wanted }) => ready === wanted && wanted > 0))
    );
  };
  await waitFor(full, { bound_ms: 120_000, what: "both pools are full", look_ms: 200 });
}

export async function benchWarmRecovery(bench: BenchFleet): Promise<Row[]> {
  const key = `${SHELL_IMAGE}:0.5:64m`;
  const env = { HOLDFAST_POOL: "0", HOLDFAST_POOL_KEYS: Array.from({ length: 2 * TASKS }, () => key).join() };
  const fleet = await startLabFleet({ engines: 2, workers: 2, slots: 4, env });
  const { own, baseline, count } = await measure(bench, fleet, () => allWarm(fleet));
  return [
    {
      id: "P8-warm",
      what: "worker killed → its tasks running on another host that has warm sandboxes free",
      unit: "ms",
      ours: own,
      baseline,
      ratio: own.p50 / baseline.p50,
      goal: "p99 <= 15 s",
      met: own.p99 <= DEATH_MS_MAX,
      note: `kill -9 of a worker process; ${count} tasks in ${ROUNDS} rounds; baseline: bare create + start`,
    },
  ];
}
