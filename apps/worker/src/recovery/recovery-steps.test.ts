import { type BootId, type HostId, TIMES } from "@holdfast/contract";
import { LOST_TAIL_MS } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import type { DeadBoot } from "./boot-sights.js";
import { stepsFor } from "./recovery-steps.js";

const HERE = "host_here" as HostId;
const THERE = "host_there" as HostId;
const VIEW = { host_id: HERE, engine_healthy: true, tidied_ms: 0 };

const dead = (given: Partial<DeadBoot> = {}): DeadBoot => ({
  boot_id: "boot_1" as BootId,
  host_id: THERE,
  reservations: 2,
  holds_slice: false,
  dead_ms: LOST_TAIL_MS,
  seen_ms: 0,
  ...given,
});

describe("what recovery does for a DEAD boot", () => {
  test("nothing before its DEAD is older than the tail that Redis may lose (L4)", () => {
    const young = dead({ dead_ms: LOST_TAIL_MS - 1, seen_ms: TIMES.dead_man_bound_ms });

    expect(stepsFor(young, { ...VIEW, tidied_ms: null })).toEqual({
      prove: false,
      recover: "no",
      free: "no",
      tidy: false,
    });
  });

  test("of another host: its tasks go on at once, its capacity waits for the dead-man bound (C2)", () => {
    const before = dead({ seen_ms: TIMES.dead_man_bound_ms - 1 });

    expect(stepsFor(before, VIEW)).toMatchObject({ prove: false, recover: "at_once", free: "no" });
    expect(stepsFor(dead({ seen_ms: TIMES.dead_man_bound_ms }), VIEW)).toMatchObject({ free: "bound" });
  });

  test("the bound runs on this worker's own clock: a tombstone that is old in the ledger proves nothing (C2)", () => {
    expect(stepsFor(dead({ dead_ms: 3_600_000 }), VIEW).free).toBe("no");
  });

  test("of this host: proof comes first, for its tasks as for its capacity (C2)", () => {
    const here = dead({ host_id: HERE });

    expect(stepsFor(here, VIEW)).toMatchObject({ prove: true, recover: "when_quiet", free: "proof" });
  });

  test("of this host with a sick engine: nothing can be proven, so the bound has to run", () => {
    const here = dead({ host_id: HERE });
    const sick = { ...VIEW, engine_healthy: false };

    expect(stepsFor(here, sick)).toMatchObject({ prove: false, recover: "when_quiet", free: "proof" });
    expect(stepsFor({ ...here, seen_ms: TIMES.dead_man_bound_ms }, sick)).toMatchObject({
      prove: false,
      recover: "at_once",
      free: "bound",
    });
  });

  test("one that holds only its pool's slice is proven or waited for like any other (C2)", () => {
    const sliced = dead({ reservations: 0, holds_slice: true, host_id: HERE });

    expect(stepsFor(sliced, VIEW)).toMatchObject({ prove: true, free: "proof" });
    expect(stepsFor({ ...sliced, host_id: THERE }, VIEW)).toMatchObject({ prove: false, free: "no" });
    const late = dead({ ...sliced, host_id: THERE, seen_ms: TIMES.dead_man_bound_ms });
    expect(stepsFor(late, VIEW)).toMatchObject({ free: "bound" });
  });

  test("one that holds nothing is only tidied up after: at once, often at first, then now and then", () => {
    const empty = dead({ reservations: 0, host_id: HERE });
    const steps = (given: Partial<DeadBoot>, tidied_ms: number | null) =>
      stepsFor({ ...empty, ...given }, { ...VIEW, tidied_ms });

    expect(steps({}, null)).toEqual({ prove: false, recover: "no", free: "no", tidy: true });
    expect(steps({}, 4_999).tidy).toBe(false);
    expect(steps({}, 5_000).tidy).toBe(true);
    expect(steps({ dead_ms: 60_000 }, 5_000).tidy).toBe(false);
    expect(steps({ dead_ms: 60_000 }, 60_000).tidy).toBe(true);
  });
});
