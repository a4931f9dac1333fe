import { createMetrics, silentLogger } from "@holdfast/chassis";
import { describe, expect, test } from "vitest";
import { createLease } from "../boot/lease.js";
import { createWorkerMetrics } from "../worker-metrics.js";
import { untilAnswered } from "./until-answered.js";

function setup() {
  const lease = createLease();
  const beat = (): void => lease.renewed(lease.now(), 8_000);
  beat();
  const registry = createMetrics();
  const caller = { lease, logger: silentLogger(), metrics: createWorkerMetrics(registry), pokeBeat: beat };
  return { lease, caller, registry, run: { abandoned: false } };
}

describe("untilAnswered", () => {
  test("a call whose answer is lost is sent again until it is answered", async () => {
    const { caller, run } = setup();
    let sent = 0;
    const call = async () => {
      sent += 1;
      if (sent === 1) throw new Error("connection closed");
      return { kind: "settled" };
    };

    expect(await untilAnswered(caller, run, "settle", call)).toEqual({ kind: "settled" });
    expect(sent).toBe(2);
  });

  test("a refusal is believed only after a fresh beat: the lease may have lapsed while Redis was away (L2)", async () => {
    const { caller, registry, run } = setup();
    const replies = ["fenced", "settled"];
    const call = async () => ({ kind: replies.shift() ?? "none" });

    expect(await untilAnswered(caller, run, "settle", call)).toEqual({ kind: "settled" });
    expect(await registry.text()).not.toContain("holdfast_fenced_calls_total{");
    expect(await untilAnswered(caller, run, "settle", async () => ({ kind: "fenced" }))).toEqual({ kind: "fenced" });
    expect(await registry.text()).toContain('holdfast_fenced_calls_total{call="settle"} 1\n');
  });

  test("nothing is sent by a boot that is over, or for a run that was abandoned (L3)", async () => {
    const { caller, lease } = setup();
    let sent = 0;
    const call = async () => {
      sent += 1;
      return { kind: "settled" };
    };

    expect(await untilAnswered(caller, { abandoned: true }, "settle", call)).toBeNull();
    lease.revoke();
    expect(await untilAnswered(caller, { abandoned: false }, "settle", call)).toBeNull();
    expect(sent).toBe(0);
  });
});
