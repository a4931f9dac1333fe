/**
 * What a job waits for comes while it is being put to sleep. The duty that would find it a second later is out of
 * order.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { type PrivateRedis, startPrivateRedis } from "../support/private-redis.js";
import { waitFor } from "../support/wait-for.js";
import { openParkingScene, type ParkingScene } from "./hunt/parking.js";

/** A job that nobody woke sleeps for 30 s. */
const WOKEN_MS = 12_000;

let redis: PrivateRedis;
let scene: ParkingScene;
let scenes = 0;
beforeAll(async () => {
  redis = await startPrivateRedis();
});
beforeEach(async () => {
  scenes += 1;
  scene = await openParkingScene(redis.port, `park${scenes}`);
});
afterEach(() => scene.close());
afterAll(() => redis.stop());

async function jobEnds(job_id: string): Promise<void> {
  const ended = async () => (await scene.fleet.queue.state("tasks", job_id)) === "finished";
  await waitFor(ended, { bound_ms: WOKEN_MS, what: `job ${job_id} is finished` });
}

it("released while another is being parked: it looks once more and runs (T2)", async () => {
  await scene.submit("first", 300);
  await scene.running("first");
  const parking = scene.holdParking();
  const second = await scene.submit("second", 0);
  await parking.reached(10_000);
  await scene.freed("first");
  parking.release();

  expect(await scene.fleet.client.outcome(second, { wait_ms: WOKEN_MS })).toMatchObject({ status: "SUCCEEDED" });
});

it("ended while a plain producer's job that follows it is being parked: that job ends too (T2)", async () => {
  await scene.submit("carried", 300);
  await scene.running("carried");
  const parking = scene.holdParking();
  await scene.addPlain("follower", "carried", 300);
  await parking.reached(10_000);
  await scene.freed("carried");
  parking.release();

  await jobEnds("follower");
});

it("cancelled while its plain producer's job is being parked: the job ends at once (T3)", async () => {
  await scene.submit("first", 1_000);
  await scene.running("first");
  const parking = scene.holdParking();
  await scene.addPlain("waiter", "waits", 0);
  await parking.reached(10_000);
  expect(await scene.fleet.client.cancel("waits")).toMatchObject({ kind: "cancelled" });
  parking.release();

  await jobEnds("waiter");
});
