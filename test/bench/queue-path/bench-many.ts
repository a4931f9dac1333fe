/**
 * P5-many: 10,000 tasks queued at once from 100 workspaces that may run one task each. Almost every task is refused at
 * least once and waits in its workspace's list, so this is the rate of waiting, and the order that it keeps.
 */
import { pause } from "@holdfast/chassis";
import { percentiles, type Row } from "../rows.js";
import { workspaceOf } from "./place.js";
import { type Program, type Rig, startRig } from "./rig.js";

const BATCH = { name: "m", count: 10_000, workspaces: 100, window: 100 };
const CONCURRENCY = 128;
const SAMPLE_MS = 250;
/** What the worker may grow by in the last third of the tasks, and Redis beyond what stays stored. */
const WORKER_GROWTH_MB_MAX = 16;
const STORED_RATIO_MAX = 1.1;

async function limitWorkspaces(rig: Rig): Promise<void> {
  const names = Array.from({ length: BATCH.workspaces }, (_, n) => workspaceOf(n, BATCH));
  await Promise.all(names.map((name) => rig.ledger.hosts.setLimits("workspace", name, { slots: 1 })));
}

/** How many places each task was granted after its own in its workspace, by fences: they rise with every grant. */
async function lateness(rig: Rig): Promise<number[]> {
  const records = await Promise.all(
    Array.from({ length: BATCH.count }, (_, n) =>
      rig.redis.hmget(rig.key(`task:${workspaceOf(n, BATCH)}:${BATCH.name}_${n}`), "accepted_us", "fence"),
    ),
  );
  return Array.from({ length: BATCH.workspaces }, (_, workspace) => {
    const own = records
      .filter((_, n) => n % BATCH.workspaces === workspace)
      .map(([at, fence]) => [Number(at), Number(fence)]);
    const byAge = own.toSorted(([left = 0], [right = 0]) => left - right);
    const byGrant = own.toSorted(([, left = 0], [, right = 0]) => left - right);
    return byAge.map((task, place) => byGrant.indexOf(task) - place);
  }).flat();
}

interface Memory {
  /** Peaks of the worker in each third of the tasks. */
  readonly worker_mb: [number, number, number];
  /** Peak of what Redis stores. */
  stored_mb: number;
}

async function watchMemory(rig: Rig, worker: Program, over: Promise<void>): Promise<Memory> {
  const seen: Memory = { worker_mb: [0, 0, 0], stored_mb: 0 };
  let ended = false;
  const end = over.finally(() => {
    ended = true;
  });
  while (!ended) {
    const left = (await rig.redis.zcard(rig.key("pending"))) / BATCH.count;
    const third = left > 2 / 3 ? 0 : left > 1 / 3 ? 1 : 2;
    seen.worker_mb[third] = Math.max(seen.worker_mb[third], worker.memoryMb());
    seen.stored_mb = Math.max(seen.stored_mb, await rig.storedMb());
    await pause(SAMPLE_MS);
  }
  await end;
  return seen;
}

export async function benchMany(): Promise<Row[]> {
  const rig = await startRig("always", CONCURRENCY);
  try {
    await limitWorkspaces(rig);
    const producer = await rig.start("producer");
    const before = await rig.storedMb();
    await producer.submit(BATCH);
    const queued = (await rig.storedMb()) - before;
    const begun = performance.now();
    const worker = await rig.start("worker");
    const memory = await watchMemory(rig, worker, rig.tasksEnd());
    const rate = (BATCH.count * 1_000) / (performance.now() - begun);
    const ended = (await rig.storedMb()) - before;
    const late = await lateness(rig);
    const [places, stored] = [Math.max(...late), (memory.stored_mb - before) / Math.max(queued, ended)];
    const [first, second, third] = memory.worker_mb;
    const growth = third - Math.max(first, second);
    return [
      {
        id: "P5-many",
        what: "10,000 tasks at once from 100 workspaces of one slot each",
        unit: "tasks/s",
        ours: percentiles([rate]),
        baseline: null,
        ratio: stored,
        goal: `granted in order, worker flat (+${WORKER_GROWTH_MB_MAX} MiB), Redis <= ${STORED_RATIO_MAX} x what stays stored`,
        met: places === 0 && growth <= WORKER_GROWTH_MB_MAX && stored <= STORED_RATIO_MAX,
        note:
          `${places} places late in its workspace at most; Redis stores ${queued.toFixed(0)} MiB when all are queued, ` +
          `${ended.toFixed(0)} MiB when all have ended (records stay a day), ${(memory.stored_mb - before).toFixed(0)} MiB ` +
          `at its peak; worker's resident memory by thirds ${memory.worker_mb.map((mb) => mb.toFixed(0)).join(", ")} MiB; ` +
          "appendfsync always",
      },
    ];
  } finally {
    await rig.stop();
  }
}
