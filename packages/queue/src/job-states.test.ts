import type { Queue } from "bullmq";
import { expect, test } from "vitest";
import type { QueueConnection } from "./fetching-worker.js";
import { stateOf } from "./job-states.js";

const HALF_A_GIGABYTE = 500_000_000;

/** A job in a queue where many wait, of which only so much may be read. */
function jobOf(lengths: Readonly<Record<string, number>>) {
  const read: string[] = [];
  const connection = {
    llen: async () => 5_000,
    hstrlen: async (_: string, field: string) => lengths[field] ?? 0,
    hget: async (_: string, field: string) => {
      read.push(field);
      return field === "name" ? "delivery" : "0";
    },
  };
  const queue = { toKey: (key: string) => key, getJobState: async () => "delayed" };
  return { read, state: (id: string) => stateOf(connection as never as QueueConnection, queue as never as Queue, id) };
}

test("a job of ours among many is told to wait by its fields alone", async () => {
  expect(await jobOf({ name: 8, delay: 1 }).state("default.task_a.1")).toBe("waiting");
});

test("a field that is longer than any of ours is not read, and what has it under an id of ours is not ours", async () => {
  const job = jobOf({ name: HALF_A_GIGABYTE, delay: 1 });
  expect(await job.state("default.task_a.1")).toBe("gone");
  expect(job.read).toEqual(["delay"]);

  const sleeper = jobOf({ name: 8, delay: HALF_A_GIGABYTE });
  expect(await sleeper.state("default.task_a.1")).toBe("parked");
  expect(sleeper.read).toEqual(["name"]);
});
