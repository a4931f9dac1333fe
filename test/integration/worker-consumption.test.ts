/** A worker whose consumer is dead while its other lines are good: it fetches again without anybody's help. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FaultProxy, holdRequest, type Rule, startRedisProxy } from "../faults/lab/proxy.js";
import { scriptNames } from "../faults/lab/script-names.js";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

const OK = { image: SHELL_IMAGE, command: ["true"] };
const REDIS = "HOLDFAST_TEST_REDIS_URL";

let proxy: FaultProxy;
let fleet: TestFleet;
const rules: Rule[] = [];
beforeAll(async () => {
  proxy = await startRedisProxy({ port: Number(new URL(process.env[REDIS] ?? "").port), names: scriptNames() });
  fleet = await startFleet({ env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } });
});
afterAll(async () => {
  for (const rule of rules) rule.release();
  await fleet.stopAndExpectNothingLeft();
  await proxy.close();
});

/** The next such request of either consumer, of the shared queue and of the boot's own, stays on its way for ever. */
async function hold(selector: { readonly command?: string; readonly script?: string }): Promise<void> {
  const both = [0, 1].map(() => proxy.on(selector, holdRequest()));
  rules.push(...both);
  await Promise.all(both.map((rule) => rule.reached(15_000)));
}

it("its blocking connection is half-open: BullMQ gives that up, and tasks run", async () => {
  await hold({ command: "BZPOPMIN" });

  expect(await fleet.run(OK)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
  expect(await fleet.metric("holdfast_consumer_rebuilds_total")).toBe(0);
});

it("its fetch is never answered: the watchdog builds another consumer, which fetches; the task runs once", async () => {
  await hold({ script: "bull:moveToActive" });

  expect(await fleet.run(OK)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
  expect(await fleet.metric("holdfast_consumer_rebuilds_total")).toBe(1);
  expect(await fleet.run(OK)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
});
