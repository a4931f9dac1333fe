/** A job that is held on its way to sleep, while what it waits for comes: nobody can wake it then. */
import type { TaskName } from "@holdfast/contract";
import { isTerminal } from "@holdfast/contract";
import { waitFor } from "../../support/wait-for.js";
import { holdRequest, type Rule } from "../lab/proxy.js";
import { type HuntFleet, openHuntFleet } from "./fleet.js";
import { HUNT_IMAGE } from "./host.js";

export interface ParkingScene {
  readonly fleet: HuntFleet;
  /** Submits a task that runs so long. */
  submit(task_id: string, run_ms: number): Promise<TaskName>;
  /** The same as a plain producer's own job of that id. */
  addPlain(job_id: string, task_id: string, run_ms: number): Promise<void>;
  running(task_id: string): Promise<void>;
  /** Ended, and what it held is free. */
  freed(task_id: string): Promise<void>;
  /** Holds the next job that is put to sleep; resolves when one is. */
  holdParking(): Rule;
  close(): Promise<void>;
}

const BOUND_MS = 20_000;

/** One host of two slots, and a workspace that may use one of them. */
export async function openParkingScene(redis_port: number, prefix: string): Promise<ParkingScene> {
  const hosts = [{ slots: 2, cpu: 4, memory_mb: 1_400 }];
  const fleet = await openHuntFleet({ redis_port, prefix, hosts, without_heads_duty: true, onLine: () => undefined });
  await fleet.ledger.hosts.setLimits("workspace", "default", { slots: 1 });
  const [host] = fleet.hosts;
  if (host === undefined) throw new Error("there is no host");
  const worker = await fleet.start(host);
  const requestOf = (task_id: string, run_ms: number) => ({
    task_id,
    image: HUNT_IMAGE,
    command: ["run", `${run_ms}`],
    resources: { cpu: 0.5, memory_mb: 32, disk_mb: 16, pids_limit: 64 },
  });
  const statusOf = async (task_id: string) => (await fleet.client.status(task_id)).status;
  return {
    fleet,
    submit: (task_id, run_ms) => fleet.client.submit(requestOf(task_id, run_ms)),
    addPlain: async (jobId, task_id, run_ms) => {
      await fleet.plain.add("any", requestOf(task_id, run_ms), { jobId });
    },
    running: async (task_id) => {
      const runs = async () => (await statusOf(task_id)) === "RUNNING";
      await waitFor(runs, { bound_ms: BOUND_MS, what: `${task_id} runs` });
    },
    freed: async (task_id) => {
      const free = async () =>
        isTerminal(await statusOf(task_id)) &&
        (await fleet.client.hosts()).every(({ reserved }) => reserved.slots === 0);
      await waitFor(free, { bound_ms: BOUND_MS, what: `${task_id} has ended and its slot is free` });
    },
    holdParking: () => worker.line.on({ script: "bull:moveToDelayed" }, holdRequest()),
    close: () => fleet.close(),
  };
}
