/** What is kept and what goes: at an operator's word in the ledger, and in an engine. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineCensus } from "../support/census.js";
import { engineAsk, engineCall } from "../support/engine-call.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, openBench, type Running } from "./cli-bench.js";

const SOCKET = process.env["HOLDFAST_TEST_ENGINE_SOCKET"] ?? "/var/run/docker.sock";

let bench: Bench;
let up: Running;
beforeAll(async () => {
  buildPrograms();
  bench = openBench();
  up = await bench.up("--slots", "2");
});
afterAll(() => bench.close());

describe("holdfast retention", () => {
  it("counts what would go, or removes it, and says what is kept (Q1)", async () => {
    await bench.holdfast("run", "--", "true");
    const counted = await bench.holdfast("retention", "--dry-run", "--json");
    const done = await bench.holdfast("retention");

    const report = JSON.parse(counted.stdout.toString()) as Record<string, unknown>;
    expect(report).toMatchObject({ dry_run: true, records_removed: 0, records_left: 0, settings: { jobs_max: 1_000 } });
    expect(report["records"]).toBeGreaterThan(0);
    expect(done.stdout.toString()).toMatch(/^records .* found, 0 removed\n/);
  });
});

describe("holdfast retention --images", () => {
  const name = `holdfast/keep-${randomBytes(4).toString("hex")}`;
  const tags = [`${name}:1`, `${name}:2`];
  const isThere = async (tag: string) => (await engineCall(SOCKET, "GET", `/images/${tag}/json`)).status === 200;
  afterAll(async () => {
    for (const tag of tags) await engineCall(SOCKET, "DELETE", `/images/${tag}`);
  });

  it("removes versions that the allow list names no more, and nothing that was never listed (Q1)", async () => {
    for (const tag of ["1", "2"])
      await engineAsk(SOCKET, "POST", `/images/holdfast/shell:1/tag?repo=${name}&tag=${tag}`);
    const list = join(scratchFolder("keep"), "allow.json");
    writeFileSync(list, JSON.stringify({ images: [{ image: `${name}:2`, digest: null }] }));
    const retention = (...words: string[]) =>
      bench.start(["retention", "--images", ...words], undefined, { HOLDFAST_IMAGES: list }).ended;

    const counted = JSON.parse((await retention("--dry-run", "--json")).stdout.toString()) as Record<string, unknown>;
    expect(counted["images"]).toEqual([{ name: `${name}:1`, removed: false }]);
    expect((await retention()).stdout.toString()).toMatch(new RegExp(`${name}:1 removed`));

    expect(await Promise.all([...tags, "holdfast/shell:1"].map(isThere))).toEqual([false, true, true]);
  });
});

describe("holdfast purge", () => {
  const other = `holdfast-agent-other-${randomBytes(4).toString("hex")}`;
  beforeAll(() =>
    engineAsk(SOCKET, "POST", "/volumes/create", { Name: other, Labels: { "holdfast.fleet": "other_fleet" } }),
  );
  afterAll(() => engineAsk(SOCKET, "DELETE", `/volumes/${other}`));

  it("is refused beside a live worker, shows what would go, and after its death removes that and no more (E1, E2, Q1)", async () => {
    const task = bench.start(["run", "--", "sh", "-c", "echo up; sleep 300"]);
    await waitFor(() => task.stdout().includes("up"), { bound_ms: 30_000, what: "a sandbox runs" });
    const refused = await bench.holdfast("purge", "--yes");
    expect({ code: refused.code, stderr: refused.stderr }).toMatchObject({
      code: 125,
      stderr: expect.stringMatching(/a worker serves this engine \(boot_\w+\)/),
    });
    expect((await bench.holdfast("purge", "--dry-run")).stderr).toContain("it would be refused");
    expect(await bench.containers(), "nothing was touched").toBeGreaterThan(0);

    up.child.kill("SIGKILL");
    await waitFor(() => up.child.signalCode !== null, { bound_ms: 5_000, what: "up is gone" });
    task.child.kill("SIGKILL");
    const unsure = await bench.holdfast("purge", "--force");
    expect([unsure.code, unsure.stderr]).toEqual([2, expect.stringContaining("--yes")]);
    expect(unsure.stdout.toString()).toMatch(/volume +holdfast-host-\S+ +\S+ +would go/);
    const purged = await bench.holdfast("purge", "--yes", "--force", "--json");

    expect(purged.code).toBe(0);
    const rows = purged.stdout.toString().trim().split("\n");
    const removed = rows.map((row) => JSON.parse(row) as Record<string, unknown>);
    expect(removed.map(({ fate, fleet_id }) => [fate, fleet_id])).toEqual(
      removed.map(() => ["removed", bench.fleetId()]),
    );
    expect(await engineCensus(SOCKET, bench.fleetId())).toEqual({ containers: [], volumes: [], networks: [] });
    expect((await engineCensus(SOCKET, "other_fleet")).volumes).toEqual([other]);
    const nobodys = await bench.holdfast("purge", "--yes", "--data", join(bench.data, "nowhere"));
    expect([nobodys.code, nobodys.stderr]).toEqual([2, expect.stringContaining("other_fleet")]);
    const again = await bench.holdfast("purge", "--yes");
    expect([again.code, again.stdout.toString()]).toEqual([0, "nothing to remove is in this engine\n"]);
  });
});
