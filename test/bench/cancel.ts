/** P7: cancel → no process of the task left, beside a bare kill of a container that runs the same command. */
import { existsSync } from "node:fs";
import { waitFor } from "../support/wait-for.js";
import type { BenchFleet } from "./fleet.js";
import { percentiles, type Row } from "./rows.js";

const ROUNDS = 30;
const COMMAND = ["sh", "-c", "sleep 300 & sleep 300 & wait"];
const P99_MS_MAX = 1_000;

/** A pid of the host that stands for a process of the sandbox: gone from /proc when the process is gone. */
async function processesEnd(pids: readonly number[]): Promise<void> {
  const gone = () => pids.every((pid) => !existsSync(`/proc/${pid}`));
  await waitFor(gone, { bound_ms: 30_000, what: "every process is gone", look_ms: 1 });
}

async function bare(fleet: BenchFleet): Promise<number> {
  const container = await fleet.docker.createContainer({
    Image: fleet.image,
    Entrypoint: COMMAND.slice(0, 1),
    Cmd: COMMAND.slice(1),
    Labels: { "holdfast.bench": "bare" },
    HostConfig: { NetworkMode: "none", LogConfig: { Type: "none", Config: {} } },
  });
  await container.start();
  const pids = await fleet.pidsOf(container.id, 3);
  const begun = performance.now();
  const killed = container.kill({ signal: "SIGKILL" });
  await processesEnd(pids);
  const took = performance.now() - begun;
  await killed;
  await container.remove({ v: true, force: true });
  return took;
}

async function ours(fleet: BenchFleet): Promise<number> {
  const { task_id } = await fleet.client.submit({ image: fleet.image, command: COMMAND });
  await waitFor(async () => (await fleet.client.status(task_id)).events > 1, { bound_ms: 30_000, what: "it runs" });
  const pids = await fleet.pidsOf((await fleet.inspectSandbox()).Id, 4);
  const begun = performance.now();
  const cancelled = fleet.client.cancel(task_id);
  // Process 1 is ours and goes with the container; the task's own processes are what is asked for.
  await processesEnd(pids.slice(1));
  const took = performance.now() - begun;
  await cancelled;
  await fleet.client.outcome(task_id);
  await fleet.slotsFree();
  return took;
}

export async function benchCancel(fleet: BenchFleet): Promise<Row[]> {
  const samples: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    samples.bare.push(await bare(fleet));
    samples.ours.push(await ours(fleet));
  }
  const [own, baseline] = [percentiles(samples.ours), percentiles(samples.bare)];
  return [
    {
      id: "P7",
      what: "cancel → no process of the task left",
      unit: "ms",
      ours: own,
      baseline,
      ratio: own.p50 / baseline.p50,
      goal: "p99 <= 1000 ms",
      met: own.p99 <= P99_MS_MAX,
      note: `baseline: bare kill of a container with the same command; three processes; ${ROUNDS} rounds each`,
    },
  ];
}
