/** An engine that fails once, is slow, answers 409, or does not answer at all for a while. */
import { describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { waitFor } from "../support/wait-for.js";
import {
  type Action,
  delayReply,
  delayRequest,
  dropReply,
  fail,
  holdRequest,
  type Rule,
  type Selector,
} from "./lab/proxy.js";
import { accepted, grantsOf, running, shell, times, useFleet } from "./lab/use-fleet.js";

const CREATE: Selector = { command: "POST", path: /^\/containers\/create$/ };
const ATTACH: Selector = { command: "POST", path: /\/attach$/ };
const START: Selector = { command: "POST", path: /\/start$/ };
const KILL: Selector = { command: "POST", path: /\/kill$/ };
const REMOVE: Selector = { command: "DELETE", path: /^\/containers\// };
const INSPECT: Selector = { command: "GET", path: /^\/containers\/[0-9a-f]{64}\/json$/ };

const SLOW_MS = times(1_500, 5_000);

const TROUBLE: readonly (readonly [string, Selector, Action])[] = [
  ["create answers 500", CREATE, fail("500 no space left on device")],
  ["create answers 409", CREATE, fail("409 Conflict. The container name is already in use")],
  ["create is slow", CREATE, delayRequest(SLOW_MS)],
  ["create's answer is slow", CREATE, delayReply(SLOW_MS)],
  ["attach answers 500", ATTACH, fail("500 trouble")],
  ["start answers 500", START, fail("500 OCI runtime create failed")],
  ["start's answer is slow", START, delayReply(SLOW_MS)],
  ["inspect answers 500", INSPECT, fail("500 trouble")],
  ["remove answers 500", REMOVE, fail("500 device or resource busy")],
  ["remove's answer is slow", REMOVE, delayReply(SLOW_MS)],
];

/** Seen where a creation failed after the start: only then has a living sandbox to be killed. */
const AT_KILL: readonly (readonly [string, Action])[] = [
  ["answers 500", fail("500 tried to kill container, but did not receive an exit event")],
  ["answers 409", fail("409 Container is not running")],
  ["is slow", delayRequest(SLOW_MS)],
  ["loses its answer", dropReply()],
];

const FROZEN_MS = times(10_000, 60_000);

describe("an engine in trouble", () => {
  const fleet = useFleet({ workers: 1 });

  async function oneTask(rules: readonly Rule[]): Promise<void> {
    const task = await accepted(fleet(), shell("echo out; exit 4"));
    const outcome = await fleet().producer.outcome(task, 40_000);
    for (const rule of rules) await rule.reached(20_000);
    await allFree();

    expect([outcome.status, outcome.exit_code, outcome.stdout.text]).toEqual(["FAILED", 4, "out\n"]);
    expect(grantsOf(fleet(), task)).toBe(1);
  }

  async function allFree(): Promise<void> {
    const free = async () => (await fleet().producer.client.sandboxes()).length === 0;
    await waitFor(free, { bound_ms: 50_000, what: "the capacity is given back" });
  }

  describe.each(Array.from({ length: times(1, 8) }, (_, n) => n + 1))("try %i", () => {
    it.each(TROUBLE)("%s: one attempt, one outcome, one sandbox at a time (E1, T1)", async (_, selector, action) => {
      await oneTask([fleet().worker(0).engine.on(selector, action)]);
    });

    it.each(AT_KILL)("kill %s after a creation that failed: tried until proven (C2, E1)", async (_, action) => {
      const { engine } = fleet().worker(0);
      await oneTask([engine.on(INSPECT, fail("500 trouble")), engine.on(KILL, action)]);
    });

    it("a container is removed by hand in the moment of its removal: gone is gone (C2)", async () => {
      const rule = fleet().worker(0).engine.on(REMOVE, holdRequest());
      const task = await accepted(fleet(), shell("echo out"));
      const { detail } = await rule.reached(20_000);
      await engineAsk(fleet().engine(0).socket, "DELETE", `${detail}?force=1`);
      rule.release();

      expect((await fleet().producer.outcome(task, 10_000)).status).toBe("SUCCEEDED");
      await allFree();
    });
  });

  it(`that is frozen for ${FROZEN_MS / 1000} s: what runs ends after it, what waits says why, the lease stands (C2, L3)`, {
    timeout: 180_000,
  }, async () => {
    const task = await accepted(fleet(), shell("sleep 2; echo done"));
    await running(fleet(), task);

    await fleet().engine(0).freeze();
    const frozen_at = performance.now();
    const sick = async () => (await fleet().producer.client.hosts()).every((host) => !host.engine_healthy);
    await waitFor(sick, { bound_ms: 10_000, what: "the engine is known as sick", look_ms: 50 });
    const sick_ms = performance.now() - frozen_at;
    const waiting = await accepted(fleet(), shell("echo waited"));
    const says = async () => (await fleet().producer.client.status(waiting)).waiting?.reason === "engine_unavailable";
    await waitFor(says, { bound_ms: 5_000, what: "status names the engine", look_ms: 50 });
    await waitFor(() => performance.now() - frozen_at > FROZEN_MS, { bound_ms: FROZEN_MS + 5_000, what: "the freeze" });
    const [boot] = (await fleet().producer.client.hosts()).flatMap(({ boots }) => boots);
    fleet().engine(0).thaw();
    const thawed_at = performance.now();
    const outcomes = [await fleet().producer.outcome(task, 20_000), await fleet().producer.outcome(waiting, 20_000)];

    expect(sick_ms).toBeLessThan(8_000);
    expect(boot?.lease_left_ms).toBeGreaterThan(4_000);
    expect(outcomes.map(({ status }) => status)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(performance.now() - thawed_at).toBeLessThan(10_000);
  });

  it("leaves nothing behind and no rule broken (C1, L1, L2, E2, E3, E4, V1, Q1)", async () => {
    await fleet().finish();
  });
});
