import { readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, openBench, processesOf, type Running } from "./cli-bench.js";

const benches: Bench[] = [];

beforeAll(buildPrograms);

afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

function setup(): Bench {
  const bench = openBench();
  benches.push(bench);
  return bench;
}

const gone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

const redisUrl = (bench: Bench): string => readFileSync(join(bench.data, "redis.url"), "utf8").trim();

function redisPids(bench: Bench): number[] {
  return processesOf("redis-server").filter((pid) => !gone(pid) && readCwd(pid) === join(bench.data, "redis"));
}

function readCwd(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

async function kill(up: Running): Promise<void> {
  up.child.kill("SIGKILL");
  await waitFor(() => gone(up.pid), { bound_ms: 5_000, what: "up is gone" });
}

/** Leaves it at once when its command is heard: no other program has to start while the task runs. */
async function startTask(bench: Bench, script: string): Promise<void> {
  const run = bench.start(["run", "--", "sh", "-c", `echo up; ${script}`]);
  await waitFor(() => run.stdout().includes("up"), { bound_ms: 30_000, what: "the task runs" });
  run.child.kill("SIGKILL");
}

async function newestTask(bench: Bench): Promise<string> {
  const { stdout } = await bench.holdfast("ls", "--json", "--limit", "1");
  return (JSON.parse(stdout.toString()) as { task_id: string }).task_id;
}

describe("holdfast up", () => {
  it("prints one line with the word ready, and serves board, health and metrics", async () => {
    const bench = setup();
    const up = await bench.up("--slots", "3");
    const address = /gateway (http:\/\/127\.0\.0\.1:\d+)/.exec(up.stdout())?.[1] ?? "";
    const text = async (path: string) => (await fetch(`${address}${path}`)).text();

    expect(up.stdout().match(/ready/g)).toHaveLength(1);
    expect(up.stdout().trim().split("\n")).toHaveLength(1);
    expect(JSON.parse(await text("/readyz"))).toEqual({ ready: true, checks: { ledger: true } });
    expect(await text("/queues/")).toContain("<title>Holdfast</title>");
    expect(await text("/metrics")).toContain('holdfast_fleet_limit{amount="slots"} 3');
    expect(statSync(join(bench.data, "redis.url")).mode & 0o777).toBe(0o600);
    expect(statSync(bench.data).mode & 0o777).toBe(0o700);
  });

  it("is refused on a folder that another up has, with the pid shown", async () => {
    const bench = setup();
    const first = await bench.up();

    const second = await bench.holdfast("up", "--port", "0");

    expect(second.code).toBe(125);
    expect(second.stderr).toMatch(/^holdfast: [^\n]+\n$/);
    expect(second.stderr).toContain(`pid ${first.pid}`);
    expect((await bench.holdfast("run", "--", "echo", "still here")).stdout.toString()).toBe("still here\n");
  });

  it("has one winner where many start at once", async () => {
    const bench = setup();
    const ups = Array.from({ length: 4 }, () => bench.start(["up", "--port", "0"]));
    const isReady = (up: Running) => up.stdout().includes("ready");
    const settled = () => ups.filter((up) => up.child.exitCode !== null).length === 3 && ups.some(isReady);

    await waitFor(settled, { bound_ms: 60_000, what: "one is ready and the others are refused" });

    expect(ups.filter(isReady)).toHaveLength(1);
    const refused = ups.filter((up) => !isReady(up));
    for (const up of refused)
      expect(await up.ended).toMatchObject({ code: 125, stderr: expect.stringMatching(/pid \d+/) });
    expect(redisPids(bench)).toHaveLength(1);
  });

  it("takes over its Redis and all data after SIGKILL, and runs tasks again (T1)", async () => {
    const bench = setup();
    const first = await bench.up();
    const task = (await bench.holdfast("submit", "--", "echo", "kept")).stdout.toString().trim();
    expect((await bench.holdfast("watch", task)).code).toBe(0);
    const [redis] = redisPids(bench);
    const url = redisUrl(bench);

    await kill(first);
    expect((await bench.holdfast("ls")).code).toBe(125);
    await bench.up();

    expect(redisPids(bench)).toEqual([redis]);
    expect(redisUrl(bench)).toBe(url);
    expect((await bench.holdfast("outcome", task)).stdout.toString()).toMatch(/status +SUCCEEDED/);
    expect((await bench.holdfast("run", "--", "echo", "again")).stdout.toString()).toBe("again\n");
  });

  it("starts its Redis again when that dies, and the running task ends as if nothing had been (T2)", async () => {
    const bench = setup();
    await bench.up();
    const [redis = 0] = redisPids(bench);
    const url = redisUrl(bench);
    await startTask(bench, "sleep 5; echo on");

    process.kill(redis, "SIGKILL");
    await waitFor(() => redisPids(bench).some((pid) => pid !== redis), {
      bound_ms: 10_000,
      what: "another Redis runs",
    });
    const task = await newestTask(bench);
    const status = async () => (await bench.holdfast("status", task)).stdout.toString();
    await waitFor(async () => /SUCCEEDED/.test(await status()), { bound_ms: 45_000, what: "the task has ended" });

    expect(redisUrl(bench)).toBe(url);
    expect((await bench.holdfast("watch", task)).stdout.toString()).toBe("up\non\n");
    expect((await bench.holdfast("outcome", task)).stdout.toString()).toMatch(/attempt +1\n/);
  });

  it("drains on SIGTERM: the running task ends with its outcome, and the exit code is 0", async () => {
    const bench = setup();
    const up = await bench.up();
    await startTask(bench, "sleep 5; echo done");

    up.child.kill("SIGTERM");
    expect((await up.ended).code).toBe(0);
    expect(redisPids(bench)).toEqual([]);
    expect(await bench.containers()).toBe(0);
    await bench.up();

    expect((await bench.holdfast("outcome", await newestTask(bench))).stdout.toString()).toMatch(/status +SUCCEEDED/);
  });

  it("says what is missing: an engine, a port, a sound setting", async () => {
    const bench = setup();
    const start = (words: string[], env: Record<string, string>) => bench.start(words, undefined, env).ended;

    const engine = await start(["up", "--port", "0"], { DOCKER_HOST: "unix:///nowhere/docker.sock" });
    const redis = await start(["up", "--port", "0"], { PATH: "/nowhere" });
    const setting = await start(["up", "--slots", "many"], {});

    expect([engine.code, redis.code, setting.code]).toEqual([125, 125, 2]);
    expect(engine.stderr).toMatch(/docker\.io.*start/);
    expect(redis.stderr).toContain("apt-get install redis-server");
    expect(setting.stderr).toContain("HOLDFAST_SLOTS");
    for (const { stderr } of [engine, redis, setting]) expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });
});

describe("holdfast down", () => {
  it("ends the up, and leaves no process and no container (Q1)", async () => {
    const bench = setup();
    const up = await bench.up();
    await bench.holdfast("run", "--", "true");

    const down = await bench.holdfast("down");

    expect(down.code).toBe(0);
    expect((await up.ended).code).toBe(0);
    expect(redisPids(bench)).toEqual([]);
    expect(await bench.containers()).toBe(0);
    expect((await bench.holdfast("run", "--", "true")).stderr).toContain("holdfast up");
  });

  it("also ends the Redis of an up that was killed", async () => {
    const bench = setup();
    await kill(await bench.up());
    expect(redisPids(bench)).toHaveLength(1);

    expect((await bench.holdfast("down")).code).toBe(0);

    expect(redisPids(bench)).toEqual([]);
  });
});
