/** The warm pool of a worker on the real engine: who is served by it, what it holds, and that nothing of it stays. */
import type { PoolKeyView } from "@holdfast/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { engineCensus } from "../support/census.js";
import { PYTHON_IMAGE, SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";

const TINY = { cpu: 0.5, memory_mb: 64, disk_mb: 256, pids_limit: 128 };
/** What one member of SHELL:0.5:64 reserves. */
const TINY_MB = 64 + 256 + 128;

let fleet: TestFleet;

const keys = async (): Promise<PoolKeyView[]> =>
  (await fleet.client.hosts()).flatMap(({ boots }) => boots.flatMap(({ pool }) => pool));

const ready = async (count: number): Promise<true> =>
  waitFor(async () => (await keys()).reduce((sum, key) => sum + key.ready, 0) === count, {
    bound_ms: 20_000,
    what: `${count} warm sandboxes`,
  });

const members = async (): Promise<string[]> =>
  (await engineCensus(fleet.socket, fleet.worker.fleet_id)).containers.map(({ id }) => id);

const onlyMemberIs = (right: (id: string) => boolean): Promise<boolean> =>
  waitFor(
    async () => {
      const found = await members();
      return found.length === 1 && found.every(right);
    },
    { bound_ms: 10_000, what: "one container, and the right one" },
  );

describe("a worker with a pool", () => {
  beforeEach(async () => {
    fleet = await startFleet({ env: { HOLDFAST_POOL: "0", HOLDFAST_POOL_KEYS: `${SHELL_IMAGE}:0.5:64` } });
    await ready(1);
  });
  afterEach(() => fleet.stopAndExpectNothingLeft());

  it("serves a task of exactly its key warm, everything given at assignment, and refills (E1, E3, Q1)", async () => {
    const [before] = await members();
    const warm = await fleet.run({
      image: SHELL_IMAGE,
      resources: TINY,
      command: ["sh", "-c", 'cat f; cat; echo "$MODE"; exit 3'],
      files: [{ path: "f", content: "file " }],
      stdin: "stdin ",
      env: { MODE: "env" },
      timeout_seconds: 7,
    });

    expect(warm).toMatchObject({ status: "FAILED", exit_code: 3, warm: true, stdout: { text: "file stdin env\n" } });
    expect(warm.limits).toEqual({ cpu: 0.5, memory_mb: TINY_MB, disk_mb: 256, pids_limit: 128, timeout_seconds: 7 });
    await waitFor(async () => (await keys())[0]?.hits === 1, { bound_ms: 10_000, what: "the claim is shown" });
    await ready(1);
    await onlyMemberIs((id) => id !== before);
    expect(await keys()).toMatchObject([{ image: SHELL_IMAGE, pinned: true, hits: 1, misses: 0 }]);
    expect(await fleet.metric('holdfast_pool_claims_total{answer="hit"}')).toBe(1);
  });

  it("gives no member of another key: other memory, other image (AT-C10)", async () => {
    const [member] = await members();
    const larger = await fleet.run({ image: SHELL_IMAGE, resources: { ...TINY, memory_mb: 65 }, command: ["true"] });
    const python = await fleet.run({ image: PYTHON_IMAGE, resources: TINY, command: ["python3", "-c", "print(1)"] });

    expect([larger, python]).toMatchObject([
      { status: "SUCCEEDED", warm: false, limits: { memory_mb: TINY_MB + 1 } },
      { status: "SUCCEEDED", warm: false, stdout: { text: "1\n" } },
    ]);
    await onlyMemberIs((id) => id === member);
  });

  it("shows the sandbox that serves, and holds its memory and its slice at once (C1, E1)", async () => {
    const [member] = (await engineCensus(fleet.socket, fleet.worker.fleet_id)).containers;
    const task = await fleet.start({ image: SHELL_IMAGE, resources: TINY, command: ["sleep", "60"] });
    const [sandbox] = await fleet.client.sandboxes();
    const [host] = await fleet.client.hosts();

    expect(member?.name).toContain(sandbox?.sandbox_id);
    expect(sandbox).toMatchObject({ state: "active", assigned: true });
    expect(host?.pool_reserved).toEqual({ memory_mb: TINY_MB, pids: 130 });
    expect(host?.reserved).toMatchObject({ slots: 1, memory_mb: 2 * TINY_MB, pids: 260 });
    await fleet.client.cancel(task);
    await fleet.client.outcome(task);
  });
});

describe("a worker whose pool holds what a task needs", () => {
  it("gives the room back, runs the task within seconds, and fills again only after a while (T2, C1)", async () => {
    const kinds = [1, 2].map(() => `${SHELL_IMAGE}:0.5:64`).join();
    fleet = await startFleet({
      env: { HOLDFAST_POOL: "0", HOLDFAST_POOL_KEYS: kinds, HOLDFAST_MEMORY_MB: String(3 * TINY_MB) },
    });
    await ready(2);
    const begun = performance.now();
    const large = { cpu: 0.5, memory_mb: 2 * TINY_MB - 256 - 128, disk_mb: 256, pids_limit: 128 };
    const outcome = await fleet.run({ image: SHELL_IMAGE, resources: large, command: ["true"] });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", warm: false });
    expect(performance.now() - begun, "not only when the pool would have yielded by itself").toBeLessThan(20_000);
    expect(await fleet.metric('holdfast_pool_removed_total{why="unwanted"}')).toBe(2);
    const [host] = await fleet.client.hosts();
    expect(host?.pool_reserved).toEqual({ memory_mb: 0, pids: 0 });
    await fleet.stopAndExpectNothingLeft();
  });
});

describe("O-19: an image with an entry point", () => {
  it("waits in the pool as any other, and its entry point is not run", async () => {
    const image = "holdfast-test/entrypoint:1";
    fleet = await startFleet({
      extraImages: ["entrypoint"],
      env: { HOLDFAST_POOL: "0", HOLDFAST_POOL_KEYS: `${image}:0.5:64` },
    });
    await ready(1);
    const command = ["sh", "-c", "echo hi $FROM_IMAGE $OVER; exit 4"];
    const outcome = await fleet.run({ image, resources: TINY, command, env: { OVER: "request" } });

    expect(outcome).toMatchObject({
      status: "FAILED",
      exit_code: 4,
      warm: true,
      stdout: { text: "hi image request\n" },
    });
    await fleet.stopAndExpectNothingLeft();
  });
});
