/** P5-submit: what a submission takes with 100,000 tasks waiting, beside what it takes with none. */
import { percentiles, type Row } from "../rows.js";
import { type Program, startRig } from "./rig.js";

const WAITING = 100_000;
const SUBMISSIONS = 500;
const RATIO_MAX = 1.1;

async function oneByOne(producer: Program, name: string): Promise<number[]> {
  const { each_ms } = await producer.submit({ name, count: SUBMISSIONS, workspaces: 10, window: 1 });
  return [...each_ms];
}

/** The host is out of service, so that the worker's duties run and nothing leaves the queue. */
export async function benchSubmit(): Promise<Row[]> {
  const rig = await startRig("everysec", 16);
  try {
    await rig.start("worker");
    for (const { host_id } of await rig.ledger.hosts.list()) await rig.ledger.hosts.setDraining(host_id, true);
    const producer = await rig.start("producer");
    await producer.submit({ name: "warm", count: 1_000, workspaces: 10, window: 1 });
    const none = await oneByOne(producer, "none");
    await producer.submit({ name: "fill", count: WAITING, workspaces: 100, window: 200 });
    const many = await oneByOne(producer, "many");
    const [own, baseline] = [percentiles(many), percentiles(none)];
    const ratio = own.p50 / baseline.p50;
    return [
      {
        id: "P5-submit",
        what: "submit with 100,000 tasks waiting, beside with none",
        unit: "ms",
        ours: own,
        baseline,
        ratio,
        goal: `p50 <= ${RATIO_MAX} x`,
        met: ratio <= RATIO_MAX,
        note: `one at a time, ${SUBMISSIONS} each; the host is out of service, its worker's duties run; appendfsync everysec`,
      },
    ];
  } finally {
    await rig.stop();
  }
}
