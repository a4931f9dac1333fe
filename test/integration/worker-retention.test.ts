/** A worker removes what its fleet keeps no longer, without being told (Q1). */
import type { Submitted } from "@holdfast/client";
import { HoldfastError } from "@holdfast/contract";
import { openLedger } from "@holdfast/ledger";
import { openTaskQueue } from "@holdfast/queue";
import { expect, it } from "vitest";
import { SHELL_IMAGE, startFleet } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";

it("keeps as many records and finished jobs as it was set to, those that ended last (Q1)", async () => {
  const fleet = await startFleet({
    env: {
      HOLDFAST_RETENTION_RECORDS_MAX: "2",
      HOLDFAST_RETENTION_RECORDS_SECONDS_MIN: "0",
      HOLDFAST_RETENTION_JOBS_MAX: "1",
    },
  });
  const tasks: Submitted[] = [];
  for (const word of ["one", "two", "three", "four"]) {
    const task = await fleet.client.submit({ image: SHELL_IMAGE, command: ["echo", word] });
    expect((await fleet.client.outcome(task)).stdout.text).toBe(`${word}\n`);
    tasks.push(task);
  }

  const isKept = async (task: Submitted) =>
    fleet.client.status(task).then(
      () => true,
      (error: unknown) => !(error instanceof HoldfastError && error.code === "TASK_NOT_FOUND"),
    );
  const kept = async () => (await Promise.all(tasks.map(isKept))).join() === "false,false,true,true";
  await waitFor(kept, { bound_ms: 15_000, what: "the two that ended last are kept" });
  const counted = async () => (await fleet.metric('holdfast_retention_removed_total{kind="record"}')) === 2;
  await waitFor(counted, { bound_ms: 15_000, what: "the pass that removed two is counted" });

  const { REDIS_URL = "", HOLDFAST_PREFIX = "", HOLDFAST_QUEUE_PREFIX = "" } = fleet.env;
  const ledger = await openLedger({ url: REDIS_URL, prefix: HOLDFAST_PREFIX, role: "test" });
  const queue = openTaskQueue({ ledger, prefix: HOLDFAST_QUEUE_PREFIX });
  const trimmed = async () => (await queue.trimFinished(1, true)).left === 0;
  await waitFor(trimmed, { bound_ms: 15_000, what: "one finished job is kept" });
  await queue.close();
  await ledger.close();
  await fleet.stopAndExpectNothingLeft();
});
