/**
 * P6: log throughput from a command in a sandbox to a reader of its events that keeps pace, beside the raw attach
 * stream of a bare container that runs the same command.
 */
import type { BenchFleet } from "./fleet.js";
import { percentiles, type Row } from "./rows.js";

const ROUNDS = 5;
const MEGABYTES = 200;
const LINE = "a".repeat(63);
const COMMAND = ["sh", "-c", `yes ${LINE} | head -c ${MEGABYTES * 1_000_000}`];

async function bare(fleet: BenchFleet): Promise<number> {
  const container = await fleet.docker.createContainer({
    Image: fleet.image,
    Entrypoint: COMMAND.slice(0, 1),
    Cmd: COMMAND.slice(1),
    Labels: { "holdfast.bench": "bare" },
    HostConfig: { NetworkMode: "none", LogConfig: { Type: "none", Config: {} } },
  });
  const stream = await container.attach({ stream: true, hijack: true, stdout: true, stderr: true });
  const begun = performance.now();
  await container.start();
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
  const seconds = (performance.now() - begun) / 1000;
  await container.remove({ v: true, force: true });
  return bytes / 1_000_000 / seconds;
}

interface Read {
  readonly rate: number;
  readonly lost: number;
  readonly worker_growth_mb: number;
}

async function ours(fleet: BenchFleet): Promise<Read> {
  const memory = fleet.workerMemoryMb();
  let peak = memory;
  const { task_id } = await fleet.client.submit({ image: fleet.image, command: COMMAND, timeout_seconds: 300 });
  let begun = 0;
  let bytes = 0;
  let lost = 0;
  for await (const item of fleet.client.events(task_id)) {
    if (item.kind === "task_started") begun = performance.now();
    if (item.kind === "task_log") {
      bytes += item.bytes;
      lost += item.dropped_bytes;
      if (item.sequence % 32 === 0) peak = Math.max(peak, fleet.workerMemoryMb());
    }
    if (item.kind === "gap") lost += 1;
  }
  const seconds = (performance.now() - begun) / 1000;
  lost += MEGABYTES * 1_000_000 - bytes;
  await fleet.slotsFree();
  return { rate: bytes / 1_000_000 / seconds, lost, worker_growth_mb: peak - memory };
}

export async function benchLogs(fleet: BenchFleet): Promise<Row[]> {
  const rates: { ours: number[]; bare: number[] } = { ours: [], bare: [] };
  let lost = 0;
  let growth = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.bare.push(await bare(fleet));
    const read = await ours(fleet);
    rates.ours.push(read.rate);
    lost += read.lost;
    growth = Math.max(growth, read.worker_growth_mb);
  }
  const [own, baseline] = [percentiles(rates.ours), percentiles(rates.bare)];
  const ratio = own.p50 / baseline.p50;
  return [
    {
      id: "P6",
      what: "log throughput guest → a reader that keeps pace",
      unit: "MB/s",
      ours: own,
      baseline,
      ratio,
      goal: ">= 0.35 x, nothing lost",
      met: ratio >= 0.35 && lost === 0,
      note: `${MEGABYTES} MB a round, ${ROUNDS} rounds; bytes lost ${lost}; worker memory grew by ${growth.toFixed(0)} MiB at most`,
    },
  ];
}
