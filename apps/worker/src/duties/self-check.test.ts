import { workspaceIdSchema } from "@holdfast/contract";
import { type Check, failing, passed } from "@holdfast/engine";
import { describe, expect, it } from "vitest";
import { bootStateOf, handClock } from "../../test/boot-state.js";
import { noteSandboxEnd, selfCheckDuty } from "./self-check.js";

const GOOD = [passed("memory", "held"), passed("pids", "held")];
const BAD = [passed("pids", "held"), failing("memory", "taken", "mend it")];

function setup() {
  const clock = handClock();
  const host = { answers: true, checks: GOOD as readonly Check[] | Error, runs: 0 };
  const engine = {
    ping: async () => host.answers,
    selfCheck: async () => {
      host.runs += 1;
      if (host.checks instanceof Error) throw host.checks;
      return host.checks;
    },
  };
  const boot = bootStateOf({ engine, clock });
  boot.gate.open("starting");
  const beats: string[] = [];
  boot.pokeBeat = () => void beats.push("beat");
  return { clock, host, boot, beats, duty: selfCheckDuty(boot) };
}

describe("the self-check of a host", () => {
  it("closes the gate where a check fails, tells the next beat, and opens it once it passes (E3)", async () => {
    const { clock, host, boot, beats, duty } = setup();
    await duty.runOnce();
    expect([boot.gate.isOpen, boot.fitness.failed]).toEqual([true, []]);

    clock.pass(3_600_000);
    host.checks = BAD;
    await duty.runOnce();
    expect([boot.gate.reasons, boot.fitness.failed, beats.length]).toEqual([["self_check"], ["memory"], 2]);
    host.checks = GOOD;
    await duty.runOnce();
    expect(boot.gate.isOpen, "tried again after a minute, not at once").toBe(false);
    clock.pass(60_000);
    await duty.runOnce();

    expect([boot.gate.isOpen, boot.fitness.failed, host.runs]).toEqual([true, [], 3]);
  });

  it("without a sandbox is a failure while the engine answers, and no verdict while it does not", async () => {
    const { host, boot, duty } = setup();
    host.checks = new Error("no sandbox");
    host.answers = false;
    await duty.runOnce();
    expect(boot.gate.isOpen).toBe(true);

    host.answers = true;
    await duty.runOnce();

    expect(boot.fitness.failed).toEqual(["sandbox"]);
  });

  it("waits for a sick engine, which has a probe of its own", async () => {
    const { host, boot, duty } = setup();
    boot.engine_healthy = false;

    await duty.runOnce();

    expect(host.runs).toBe(0);
  });

  it("is owed after three sandboxes of two workspaces were lost in a row", async () => {
    const { clock, boot, duty } = setup();
    await duty.runOnce();

    for (const id of ["a", "b", "a"]) noteSandboxEnd(boot, workspaceIdSchema.parse(id), "lost");
    expect([boot.gate.reasons, boot.fitness.failed]).toEqual([["self_check"], ["sandboxes_lost"]]);
    clock.pass(60_000);
    await duty.runOnce();

    expect(boot.gate.isOpen).toBe(true);
  });
});
