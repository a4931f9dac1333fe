/** `holdfast doctor` as a user has it. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, openBench } from "./cli-bench.js";

let bench: Bench;
beforeAll(() => {
  buildPrograms();
  bench = openBench();
}, 120_000);
afterAll(() => bench.close());

async function doctorsVolumes(): Promise<string[]> {
  const socket = process.env["HOLDFAST_TEST_ENGINE_SOCKET"] ?? "/var/run/docker.sock";
  const { Volumes } = (await engineAsk(socket, "GET", "/volumes")) as { Volumes: { Name: string }[] | null };
  return (Volumes ?? []).map(({ Name }) => Name).filter((name) => name.includes("-doctor_"));
}

it("with no engine, no Redis and no redis-server it prints its table, a remedy for each failure, and exits 125", async () => {
  const missing = join(scratchFolder("doctor"), "none.sock");
  const env = { DOCKER_HOST: `unix://${missing}`, PATH: scratchFolder("empty") };

  const { code, stdout, stderr } = await bench.start(["doctor"], Buffer.alloc(0), env).ended;

  expect({ code, stderr }).toEqual({ code: 125, stderr: "" });
  const lines = stdout.toString().split("\n");
  expect(lines[0]).toMatch(/^CHECK +STATE +SEEN$/);
  expect(lines.filter((line) => / failed /.test(line)).map((line) => line.split(" ")[0])).toEqual(["redis", "engine"]);
  expect(lines.filter((line) => line.trim().startsWith("-> "))).toHaveLength(2);
}, 30_000);

it("beside a running up it proves each limit, shows no secret, leaves nothing and exits 0", async () => {
  await bench.up();

  const { code, stdout, stderr } = await bench.holdfast("doctor", "--json");

  const checks = stdout
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect({ code, stderr, bad: checks.filter(({ state }) => state === "failed") }).toEqual({
    code: 0,
    stderr: "",
    bad: [],
  });
  const proved = ["memory", "pids", "disk", "inodes", "cpu", "network", "time_limit", "kill_tree", "seccomp"];
  expect(checks.filter(({ name, state }) => proved.includes(name) && state === "ok").map(({ name }) => name)).toEqual(
    proved,
  );
  expect(checks.find(({ name }) => name === "redis_aof")).toMatchObject({ state: "ok", remedy: null });
  expect(stdout.toString()).not.toMatch(/redis:\/\/|[0-9a-f]{64}/);
  expect(await doctorsVolumes()).toEqual([]);
}, 120_000);

it("interrupted, it removes what it made and exits 130", async () => {
  const doctor = bench.start(["doctor"]);
  const works = async () => (await doctorsVolumes()).length > 0;
  await waitFor(works, { bound_ms: 20_000, what: "it has made a volume of its own" });

  doctor.child.kill("SIGINT");

  expect((await doctor.ended).code).toBe(130);
  expect(await doctorsVolumes()).toEqual([]);
}, 60_000);
