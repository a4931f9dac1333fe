import { describe, expect, it } from "vitest";
import { judgeWalls, type WallFacts } from "./walls.js";

const ROOMY: WallFacts = {
  pid_max: 4_194_304,
  threads_max: 200_000,
  pids_cgroup_max: null,
  keys_max: 1_000_000,
  keys_used: 3,
  inotify_instances_max: 128,
  descriptors_max: 1_048_576,
  ports: { first: 32_768, last: 60_999, used: 10 },
  disk: { free_mb: 80_000, inodes_free: 1_000_000 },
};

function wall(name: string, facts: Partial<WallFacts> = {}) {
  const found = judgeWalls({ ...ROOMY, ...facts }).find(({ check }) => check.name === name);
  if (found === undefined) throw new Error(`no wall ${name}`);
  return found;
}

describe("walls of kernel and engine", () => {
  it("promise no more processes than most of what the least of the kernel's limits allows", () => {
    expect(wall("kernel_pids").pids).toBe(160_000);
    expect(wall("kernel_pids", { pid_max: 32_768 }).pids).toBe(26_214);
    expect(wall("kernel_pids", { pids_cgroup_max: 1_000 })).toMatchObject({ pids: 800, check: { state: "warning" } });
  });

  it("leave slots for what keys, open files and disk have room for", () => {
    expect(wall("kernel_keys", { keys_max: 200 })).toMatchObject({ slots: 75, check: { state: "warning" } });
    expect(wall("descriptors", { descriptors_max: 1_024 })).toMatchObject({ slots: 96, check: { state: "warning" } });
    expect(wall("disk_space", { disk: { free_mb: 1_024, inodes_free: null } })).toMatchObject({ slots: 32 });
  });

  it("fail where the disk is full, or its inodes are used up, and leave no slot", () => {
    const full = wall("disk_space", { disk: { free_mb: 100, inodes_free: 1_000_000 } });

    expect(full).toMatchObject({ slots: 0, check: { state: "failed" } });
    expect(wall("disk_space", { disk: { free_mb: 80_000, inodes_free: 10 } }).check.state).toBe("failed");
  });

  it("fail where no connection can be made any more, and warn before that", () => {
    const used = (count: number) => wall("local_ports", { ports: { first: 1, last: 2_000, used: count } }).check.state;

    expect([used(0), used(1_500), used(1_990)]).toEqual(["ok", "warning", "failed"]);
  });

  it("are skipped, and bound nothing, where they cannot be read", () => {
    const none = { keys_used: 0, inotify_instances_max: null, ports: null, disk: null } as const;
    const unknown = { pid_max: null, threads_max: null, pids_cgroup_max: null, keys_max: null, descriptors_max: null };
    const walls = judgeWalls({ ...none, ...unknown });

    expect(walls.map(({ check }) => check.state)).toEqual(Array(6).fill("skipped"));
    expect(walls.flatMap(({ slots, pids }) => [slots, pids])).toEqual(Array(12).fill(null));
  });

  it("is none where each sandbox has a user of its own", () => {
    expect(wall("kernel_inotify", { inotify_instances_max: 8 })).toMatchObject({ slots: null, pids: null });
  });
});
