/**
 * P1: a warm one-shot, one at a time, the pool refilled between: submit → outcome, beside one bare `docker exec` in a
 * container of the same HostConfig. The two alternate.
 */
import { once } from "node:events";
import type Docker from "dockerode";
import { bareOptions } from "../cold.js";
import { type BenchFleet, startBenchFleet } from "../fleet.js";
import { percentiles, type Row } from "../rows.js";

const ROUNDS = 100;
const WARM_UP = 5;
const POOL = 2;

async function openBare(fleet: BenchFleet): Promise<Docker.Container> {
  const options = { ...(await bareOptions(fleet)), Entrypoint: ["sleep", "3600"] };
  const container = await fleet.docker.createContainer(options);
  await container.start();
  return container;
}

async function bareExec(container: Docker.Container): Promise<number> {
  const begun = performance.now();
  const exec = await container.exec({ Cmd: ["true"], AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({ hijack: true });
  stream.resume();
  await once(stream, "end");
  const { ExitCode } = await exec.inspect();
  if (ExitCode !== 0) throw new Error(`the bare exec ended ${ExitCode}`);
  return performance.now() - begun;
}

async function ours(fleet: BenchFleet): Promise<number> {
  const begun = performance.now();
  const { task_id } = await fleet.client.submit({ image: fleet.image, command: ["true"] });
  const outcome = await fleet.client.outcome(task_id);
  const took = performance.now() - begun;
  if (outcome.status !== "SUCCEEDED" || !outcome.warm) {
    throw new Error(`bench task ended ${outcome.status}, ${outcome.warm ? "warm" : "cold"}: ${outcome.error?.message}`);
  }
  return took;
}

async function measure(fleet: BenchFleet): Promise<{ ours: number[]; bare: number[] }> {
  const container = await openBare(fleet);
  const samples: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    await fleet.slotsFree();
    await fleet.poolReady(POOL);
    const one = await bareExec(container);
    const two = await ours(fleet);
    if (round < WARM_UP) continue;
    samples.bare.push(one);
    samples.ours.push(two);
  }
  await container.remove({ force: true, v: true });
  return samples;
}

/** On a fleet of its own: its default kind is the image of the benches. */
export async function benchWarm({ image }: BenchFleet): Promise<Row[]> {
  const fleet = await startBenchFleet({ HOLDFAST_POOL: String(POOL), HOLDFAST_IMAGE: image });
  const samples = await measure(fleet).finally(fleet.stop);
  const [own, baseline] = [percentiles(samples.ours), percentiles(samples.bare)];
  const [ratio, tail] = [own.p50 / baseline.p50, own.p99 / baseline.p99];
  return [
    {
      id: "P1",
      what: "warm one-shot `true`, one at a time: submit → outcome",
      unit: "ms",
      ours: own,
      baseline,
      ratio,
      goal: "p50 <= 0.15 x, p99 <= 0.6 x",
      met: ratio <= 0.15 && tail <= 0.6,
      note: `baseline: one bare docker exec of \`true\`, alternating, ${ROUNDS} rounds; p99 ratio ${tail.toFixed(2)}`,
    },
  ];
}
