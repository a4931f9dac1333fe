import { passed, type Wall } from "@holdfast/engine";
import { describe, expect, it } from "vitest";
import { readWorkerConfig } from "../config.js";
import { hostLimits } from "./host-limits.js";

const FACTS = { cpus: 8, memory_mb: 16_000 };
const wall = (name: string, slots: number | null, pids: number | null): Wall => ({
  check: passed(name, `${name} was seen`),
  slots,
  pids,
});
const limitsBy = (env: NodeJS.ProcessEnv, ...walls: Wall[]) => hostLimits(readWorkerConfig(env), FACTS, walls);

describe("limits of a host, and walls", () => {
  it("are what the machine allows where no wall is nearer", () => {
    const { wanted, defaults, lowered, exceeded } = limitsBy({}, wall("descriptors", 2_000, null));

    expect([wanted, lowered, exceeded]).toEqual([null, [], []]);
    expect(defaults).toMatchObject({ slots: 16, memory_mb: 12_000 });
  });

  it("are lowered by the nearest wall, which is named with what was seen", () => {
    const { defaults, lowered } = limitsBy({}, wall("kernel_keys", 10, null), wall("descriptors", 6, null), {
      ...wall("kernel_pids", null, 3_000),
    });

    expect(defaults).toMatchObject({ slots: 6, pids: 3_000 });
    expect(lowered).toEqual([
      { amount: "slots", from: 16, to: 6, wall: "descriptors", seen: "descriptors was seen" },
      { amount: "pids", from: expect.any(Number), to: 3_000, wall: "kernel_pids", seen: "kernel_pids was seen" },
    ]);
  });

  it("of an operator stay, and are told to exceed what there is room for", () => {
    const { wanted, lowered, exceeded } = limitsBy({ HOLDFAST_SLOTS: "500" }, wall("descriptors", 96, null));

    expect(wanted?.slots).toBe(500);
    expect(lowered).toEqual([]);
    expect(exceeded).toMatchObject([{ amount: "slots", from: 500, to: 96, wall: "descriptors" }]);
  });

  it("that an operator left out do not follow the disk, which would differ at the next start", () => {
    const { wanted } = limitsBy({ HOLDFAST_CPU: "4" }, wall("disk_space", 3, null), wall("kernel_keys", 9, null));

    expect(wanted).toMatchObject({ cpu_milli: 4_000, slots: 9 });
  });

  it("leave a slot to a host whose disk is full: its self-check tells that it takes nothing", () => {
    expect(limitsBy({}, wall("disk_space", 0, null)).defaults.slots).toBe(1);
  });
});
