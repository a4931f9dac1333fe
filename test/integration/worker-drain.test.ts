/** Rolling restarts (O-27): a worker that is told to stop takes nothing new, and loses no work. */
import { readWorkerConfig, startWorker } from "@holdfast/worker";
import { afterEach, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

const shell = (line: string) => ({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

let fleet: TestFleet | undefined;
afterEach(async () => {
  await fleet?.stopAndExpectNothingLeft();
  fleet = undefined;
});

describe("a worker that is told to stop", () => {
  it("lets what runs end, takes nothing new, retires, and leaves the rest waiting for another (Q1)", async () => {
    fleet = await startFleet({ slots: 1, env: { HOLDFAST_DRAIN_GRACE_SECONDS: "30" } });
    const running = await fleet.start(shell("echo begun; sleep 3; echo done"));
    const waiting = await fleet.client.submit(shell("echo later"));

    await fleet.worker.stop();

    expect(await fleet.client.outcome(running)).toMatchObject({
      status: "SUCCEEDED",
      attempt: 1,
      stdout: { text: "begun\ndone\n" },
    });
    expect((await fleet.client.status(waiting)).status).toBe("PENDING");
    expect((await fleet.client.hosts()).flatMap(({ boots }) => boots).filter(({ state }) => state !== "DEAD")).toEqual(
      [],
    );

    const successor = await startWorker(readWorkerConfig(fleet.env));
    try {
      expect(await fleet.client.outcome(waiting)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
    } finally {
      await successor.stop();
    }
  });

  it("ends what outlasts its grace and hands it back at once; twice over, it still succeeds, uncounted (T2)", async () => {
    fleet = await startFleet({ slots: 1, env: { HOLDFAST_DRAIN_GRACE_SECONDS: "0.5" } });
    const long = shell("n=0; while [ $n -lt 40 ]; do n=$((n+1)); sleep 0.2; done; echo whole");
    const task = await fleet.start({ ...long, attempts_max: 1 });
    const asked = performance.now();

    await fleet.worker.stop();
    expect(performance.now() - asked).toBeLessThan(8_000);
    expect((await fleet.client.status(task)).status).toBe("PENDING");

    const second = await startWorker(readWorkerConfig(fleet.env));
    await second.stop();
    const third = await startWorker(readWorkerConfig({ ...fleet.env, HOLDFAST_DRAIN_GRACE_SECONDS: "30" }));
    try {
      const outcome = await fleet.client.outcome(task);
      expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { text: "whole\n" } });
      expect(outcome.attempt).toBeGreaterThanOrEqual(2);
    } finally {
      await third.stop();
    }
  });
});
