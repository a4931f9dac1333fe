/**
 * The hunt for lost wake-ups: random schedules over real ledger, queue and workers, on hosts in memory. However it
 * went, nobody waits beside room that he could use, each task ends once, in turn, and nothing is left.
 * HOLDFAST_LONG=1 makes 1,000. HOLDFAST_HUNT_SEED begins elsewhere; with HOLDFAST_HUNT_SCHEDULES=1 it repeats one.
 */
import { expect, it } from "vitest";
import { startPrivateRedis } from "../support/private-redis.js";
import { runSchedule, type Verdict } from "./hunt/run.js";
import { drawSchedule } from "./hunt/schedule.js";
import { times } from "./lab/use-fleet.js";

const SCHEDULES = Number(process.env["HOLDFAST_HUNT_SCHEDULES"] ?? times(40, 1_000));
const SEED = Number(process.env["HOLDFAST_HUNT_SEED"] ?? 1);
/** Side by side: they mostly wait for leases. */
const LANES = 24;
/** After so many that went wrong no more are begun. */
const WRONG_MAX = 3;
const LOG_LINES_SHOWN = 40;

function shown({ seed, wrong, log }: Verdict): string {
  const repeat = `HOLDFAST_HUNT_SEED=${seed} HOLDFAST_HUNT_SCHEDULES=1`;
  return [repeat, ...wrong, JSON.stringify(drawSchedule(seed)), ...log.slice(-LOG_LINES_SHOWN)].join("\n");
}

it(`${SCHEDULES} random schedules from seed ${SEED}: no wake-up is lost (C1, T1, T2, V1, Q1)`, {
  timeout: 7_200_000,
}, async () => {
  const redis = await startPrivateRedis();
  const verdicts: Verdict[] = [];
  const wrongs = () => verdicts.filter(({ wrong }) => wrong.length > 0);
  let next = SEED;
  const lane = async (): Promise<void> => {
    while (next < SEED + SCHEDULES && wrongs().length < WRONG_MAX) {
      next += 1;
      verdicts.push(await runSchedule(next - 1, redis.port));
    }
  };

  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    await redis.stop();
  }

  const tasks = verdicts.reduce((sum, verdict) => sum + verdict.tasks, 0);
  const prompt = verdicts.filter((verdict) => verdict.prompt).length;
  const longest_wait_ms = Math.round(Math.max(...verdicts.map((verdict) => verdict.longest_ms)));
  const seeds_wrong = wrongs().map(({ seed }) => seed);
  console.info(`hunt: ${JSON.stringify({ schedules: verdicts.length, tasks, prompt, longest_wait_ms, seeds_wrong })}`);
  expect(wrongs().map(shown)).toEqual([]);
});
