/** Does to a fleet what a schedule says. */
import { pause } from "@holdfast/chassis";
import { taskRequestSchema } from "@holdfast/contract";
import { SHARED_QUEUE } from "@holdfast/queue";
import { monotonicMs } from "../lab/proxy.js";
import type { HuntFleet } from "./fleet.js";
import { EngineSilent, HUNT_IMAGE, type HuntHost } from "./host.js";
import type { Limits, Schedule, Step, Submit } from "./schedule.js";
import { beside, chosen, hostAt, type Stage, taskNamed, workersUp } from "./stage.js";
import { befall, sicken } from "./troubles.js";

const WORKERS_MAX = 5;
const START_AGAIN_MS = 300;

function requestOf(step: Submit) {
  const { memory_mb, cpu, queue_timeout_seconds } = step;
  return {
    ...taskNamed(`${step.workspace}.${step.task}`),
    image: HUNT_IMAGE,
    command: ["run", `${step.run_ms}`],
    resources: { cpu, memory_mb, disk_mb: 16, pids_limit: 64 },
    queue_timeout_seconds,
    attempts_max: 5,
  };
}

async function submit({ fleet, names, plain_jobs }: Stage, step: Submit): Promise<void> {
  const request = requestOf(step);
  names.push(`${step.workspace}.${step.task}`);
  switch (step.by) {
    case "client":
      await fleet.client.submit(request);
      return;
    case "twice":
      await Promise.all([fleet.client.submit(request), fleet.client.submit(request)]);
      return;
    case "plain":
      plain_jobs.push(`plain-${step.task}`);
      await fleet.plain.add("any", request, { jobId: `plain-${step.task}` });
      return;
    case "lost":
      await fleet.ledger.tasks.accept(taskRequestSchema.parse(request), { queue: SHARED_QUEUE, job_id: null });
      return;
  }
}

async function cancel({ fleet, names }: Stage, nth: number, sent: boolean): Promise<void> {
  const name = chosen(names, nth);
  if (name === undefined) return;
  const reply = await fleet.ledger.tasks.cancel(taskNamed(name));
  if (sent && reply.kind === "cancelled") await fleet.queue.promote(reply.promotions);
}

async function limit({ fleet, limits: all }: Stage, workspace: string | null, limits: Limits): Promise<void> {
  const [scope, id] = workspace === null ? (["fleet", "all"] as const) : (["workspace", workspace] as const);
  const asked_ms = monotonicMs();
  const promotions = await fleet.ledger.hosts.setLimits(scope, id, limits);
  all.push({ workspace, limits, asked_ms, answered_ms: monotonicMs() });
  await fleet.queue.promote(promotions);
}

/** On an engine that does not answer a worker refuses to start; whoever keeps it running starts it again. */
async function startUntilUp({ fleet }: Stage, host: HuntHost): Promise<void> {
  for (;;) {
    try {
      await fleet.start(host);
      return;
    } catch (error) {
      if (!(error instanceof EngineSilent)) throw error;
      await pause(START_AGAIN_MS);
    }
  }
}

async function act(stage: Stage, step: Step): Promise<void> {
  const { fleet } = stage;
  switch (step.kind) {
    case "submit":
      return submit(stage, step);
    case "cancel":
      return cancel(stage, step.nth, step.sent);
    case "limit":
      return limit(stage, step.workspace, step.limits);
    case "drain":
      return fleet.client[step.draining ? "drain" : "undrain"](hostAt(stage, step.host).host_id);
    case "start":
      if (workersUp(stage).length < WORKERS_MAX) beside(stage, startUntilUp(stage, hostAt(stage, step.host)));
      return;
    case "sick":
      return beside(stage, sicken(hostAt(stage, step.host), step.ms));
    default: {
      const worker = chosen(workersUp(stage), step.worker);
      return worker === undefined ? undefined : befall(stage, worker, step);
    }
  }
}

export interface Actor extends Pick<Stage, "names" | "plain_jobs" | "limits"> {
  play(): Promise<void>;
  /** All troubles end, each host is served, and the last limits hold. */
  rest(): Promise<void>;
}

export function createActor(fleet: HuntFleet, schedule: Schedule): Actor {
  const stage: Stage = { fleet, names: [], plain_jobs: [], limits: [], under_way: new Set() };
  return {
    ...stage,
    play: async () => {
      for (const { gap_ms, step } of schedule.moments) {
        if (gap_ms > 0) await pause(gap_ms);
        await act(stage, step);
      }
    },
    rest: async () => {
      while (stage.under_way.size > 0) await Promise.all(stage.under_way);
      const workers = workersUp(stage);
      if (schedule.mode === "rough") await Promise.all(workers.map(({ line }) => line.heal()));
      const served = new Set(workers.map(({ host }) => host));
      await Promise.all(fleet.hosts.filter((host) => !served.has(host)).map(fleet.start));
      for (const { host_id } of fleet.hosts) await fleet.client.undrain(host_id);
      for (const [id, limits] of Object.entries(schedule.last_limits)) {
        await limit(stage, id === "" ? null : id, limits);
      }
    },
  };
}
