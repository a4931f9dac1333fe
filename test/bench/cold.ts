/**
 * P2: a cold one-shot, submit → slot free again, beside a bare create + attach + start + wait + remove of the same
 * HostConfig. The two alternate, so that both meet the same moods of the machine.
 */
import type Docker from "dockerode";
import type { BenchFleet } from "./fleet.js";
import { percentiles, type Row } from "./rows.js";

const ROUNDS = 25;
const WARM_UP = 3;

/** The container options of a live sandbox, with the program `true` in the agent's place. */
export async function bareOptions(fleet: BenchFleet): Promise<Docker.ContainerCreateOptions> {
  const { task_id } = await fleet.client.submit({ image: fleet.image, command: ["sleep", "60"] });
  const inspected = await fleet.inspectSandbox();
  await fleet.client.cancel(task_id);
  await fleet.client.outcome(task_id);
  await fleet.slotsFree();
  const { Config, HostConfig } = inspected;
  return {
    Image: Config.Image,
    Entrypoint: ["true"],
    Cmd: [],
    User: Config.User,
    Env: Config.Env,
    Labels: { "holdfast.bench": "bare" },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig,
  };
}

export async function bare(docker: Docker, options: Docker.ContainerCreateOptions): Promise<number> {
  const begun = performance.now();
  const container = await docker.createContainer(options);
  const stream = await container.attach({ stream: true, hijack: true, stdin: true, stdout: true, stderr: true });
  stream.resume();
  await container.start();
  await container.wait();
  await container.remove({ v: true });
  const took = performance.now() - begun;
  stream.end();
  return took;
}

async function ours(fleet: BenchFleet): Promise<number> {
  const begun = performance.now();
  const { task_id } = await fleet.client.submit({ image: fleet.image, command: ["true"] });
  const outcome = await fleet.client.outcome(task_id);
  if (outcome.status !== "SUCCEEDED") throw new Error(`bench task ended ${outcome.status}: ${outcome.error?.message}`);
  await fleet.slotsFree();
  return performance.now() - begun;
}

export async function benchCold(fleet: BenchFleet): Promise<Row[]> {
  const options = await bareOptions(fleet);
  const samples: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    const one = await bare(fleet.docker, options);
    const two = await ours(fleet);
    if (round < WARM_UP) continue;
    samples.bare.push(one);
    samples.ours.push(two);
  }
  const [own, baseline] = [percentiles(samples.ours), percentiles(samples.bare)];
  const ratio = own.p50 / baseline.p50;
  return [
    {
      id: "P2",
      what: "cold one-shot `true`: submit → slot free again",
      unit: "ms",
      ours: own,
      baseline,
      ratio,
      goal: "p50 <= 1.10 x",
      met: ratio <= 1.1,
      note: `baseline: bare create + attach + start + wait + remove, same HostConfig, alternating, ${ROUNDS} rounds`,
    },
  ];
}
