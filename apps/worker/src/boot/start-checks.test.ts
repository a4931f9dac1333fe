import { describe, expect, test } from "vitest";
import { readWorkerConfig } from "../config.js";
import { checkImages, checkRegistered, checkServer, defaultLimits, wantedLimits } from "./start-checks.js";

const AOF = { problem: "aof", message: "Redis keeps no append-only file", setting: "HOLDFAST_ALLOW_NO_AOF" } as const;
const VERSION = { problem: "version", message: "Redis 6.2 is older than 7.0", setting: null } as const;

describe("what a worker refuses to start on", () => {
  test("a Redis without AOF, unless the setting accepts it; the refusal names the setting", async () => {
    const ledger = { serverProblems: async () => [AOF] };

    await expect(checkServer(ledger, readWorkerConfig({}))).rejects.toThrow(/HOLDFAST_ALLOW_NO_AOF=true/);
    await expect(checkServer(ledger, readWorkerConfig({ HOLDFAST_ALLOW_NO_AOF: "true" }))).resolves.toEqual([AOF]);
  });

  test("an old Redis, whatever the settings", async () => {
    const config = readWorkerConfig({ HOLDFAST_ALLOW_NO_AOF: "true", HOLDFAST_ALLOW_EVICTION: "true" });

    await expect(checkServer({ serverProblems: async () => [VERSION] }, config)).rejects.toThrow(/older than 7\.0/);
  });

  test("no image to offer, with the reason of each and what loads our own", () => {
    const refused_images = [{ image: "a:1", reason: "declares VOLUME", expected: false }];

    expect(() => checkImages({ images: [], refused_images })).toThrow(/a:1: declares VOLUME; \.\/scripts\/setup /);
  });

  test("limits that differ from the host's, with both shown", () => {
    const recorded = { slots: 4, cpu_milli: 4_000, memory_mb: 1_000, pids: 4_096 };
    const reply = { kind: "limits_differ", recorded, offered: { ...recorded, slots: 8 } } as const;

    expect(() => checkRegistered(reply)).toThrow(/slots=4 .*slots=8 /);
  });
});

describe("limits of a host", () => {
  test("default to two slots a core, three quarters of the memory and twice the cores", () => {
    expect(defaultLimits({ cpus: 4, memory_mb: 8_000 })).toMatchObject({
      slots: 8,
      cpu_milli: 8_000,
      memory_mb: 6_000,
    });
  });

  test("are left to the host's record where the operator sets none, and filled from defaults where he sets some", () => {
    const defaults = defaultLimits({ cpus: 2, memory_mb: 8_000 });

    expect(wantedLimits(readWorkerConfig({}), defaults)).toBeNull();
    expect(wantedLimits(readWorkerConfig({ HOLDFAST_SLOTS: "3" }), defaults)).toMatchObject({
      slots: 3,
      memory_mb: defaults.memory_mb,
    });
  });
});
