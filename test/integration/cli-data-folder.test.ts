import { spawn } from "node:child_process";
import { chmodSync, chownSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { readCliConfig } from "../../apps/cli/src/config.js";
import {
  type DataFolder,
  dataFolderAt,
  prepareDataFolder,
  writePrivateFile,
} from "../../apps/cli/src/data-folder/data-folder.js";
import { openPrivateRedis, type PrivateRedis } from "../../apps/cli/src/data-folder/private-redis.js";
import { identify, isRunning } from "../../apps/cli/src/data-folder/process-identity.js";
import { serversIn } from "../../apps/cli/src/data-folder/redis-process.js";
import { takeUpLock, upHolder } from "../../apps/cli/src/data-folder/up-lock.js";
import { findFleet } from "../../apps/cli/src/fleet-address.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";

const OPTIONS = { path: process.env["PATH"] ?? "", may_move: true };
const undo: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function freshFolder(): DataFolder {
  const path = scratchFolder("data");
  const folder = prepareDataFolder(join(path, "holdfast"));
  undo.push(() => rmSync(path, { recursive: true, force: true }));
  undo.push(async () => {
    for (const server of serversIn(folder.redis_directory)) {
      process.kill(server.pid, "SIGKILL");
      await waitFor(() => !isRunning(server), { bound_ms: 5_000, what: "the server ends" });
    }
  });
  return folder;
}

async function ask<T>(redis: PrivateRedis, question: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis.url, { maxRetriesPerRequest: 1 });
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(port, "127.0.0.1", () => resolve(server));
  });
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("the lock of a data folder", () => {
  function otherProcess(): { pid: number; kill(): Promise<void> } {
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    const pid = child.pid ?? 0;
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await waitFor(() => identify(pid) === null, { bound_ms: 5_000, what: "the process ends" });
    };
    undo.push(kill);
    return { pid, kill };
  }

  it("is held by the process it names, and free as soon as that one was killed", async () => {
    const folder = freshFolder();
    const other = otherProcess();
    writeFileSync(join(folder.path, "up.7.lock"), JSON.stringify(identify(other.pid)));

    expect(takeUpLock(folder.path)).toEqual({ kind: "held", pid: other.pid });
    await other.kill();
    const lock = takeUpLock(folder.path);

    expect(lock.kind).toBe("taken");
    expect(upHolder(folder.path)?.pid).toBe(process.pid);
  });

  it("is not held by another process that got the pid of a dead holder", () => {
    const folder = freshFolder();
    const other = otherProcess();
    const identity = identify(other.pid);
    writeFileSync(join(folder.path, "up.1.lock"), JSON.stringify({ ...identity, start_ticks: "1" }));

    expect(takeUpLock(folder.path).kind).toBe("taken");
  });

  it("is refused to a second taker and free after release", () => {
    const folder = freshFolder();

    const first = takeUpLock(folder.path);
    expect(takeUpLock(folder.path)).toEqual({ kind: "held", pid: process.pid });
    if (first.kind === "taken") first.release();

    expect(upHolder(folder.path)).toBeNull();
    expect(takeUpLock(folder.path).kind).toBe("taken");
  });

  it("never gives a number out again, so that a slow contender cannot win an old one", () => {
    const folder = freshFolder();
    for (let round = 0; round < 3; round += 1) {
      const lock = takeUpLock(folder.path);
      if (lock.kind === "taken") lock.release();
    }

    const locks = readdirSync(folder.path).filter((name) => name.startsWith("up."));

    expect(locks).toEqual(["up.3.lock"]);
  });
});

describe("the private Redis of a data folder", () => {
  it("keeps every write, evicts nothing, and listens on loopback with a password only its owner can read", async () => {
    const folder = freshFolder();

    const redis = await openPrivateRedis(folder, OPTIONS);

    const setting = (name: string) => ask(redis, async (client) => (await client.config("GET", name)) as string[]);
    expect((await setting("appendonly"))[1]).toBe("yes");
    expect((await setting("appendfsync"))[1]).toBe("always");
    expect((await setting("maxmemory-policy"))[1]).toBe("noeviction");
    expect((await setting("bind"))[1]).toBe("127.0.0.1");
    const open = new Redis(redis.url.replace(/:[0-9a-f]{64}@/, ""), { lazyConnect: true, retryStrategy: () => null });
    open.on("error", () => undefined);
    await expect(open.ping()).rejects.toThrow(/NOAUTH/);
    open.disconnect();
    expect(modeOf(folder.path)).toBe("700");
    expect(modeOf(folder.redis_config_file)).toBe("600");
    const password = new URL(redis.url).password;
    expect(readFileSync(`/proc/${redis.pid}/cmdline`, "utf8")).not.toContain(password);
    expect(readFileSync(`/proc/${redis.pid}/environ`, "utf8")).not.toContain(password);
  });

  it("keeps its data and its URL over a stop and a start", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);
    await ask(first, (client) => client.set("kept", "yes"));

    await first.stop();
    expect(serversIn(folder.redis_directory)).toEqual([]);
    const second = await openPrivateRedis(folder, OPTIONS);

    expect(second).toMatchObject({ taken_over: false, url: first.url });
    expect(await ask(second, (client) => client.get("kept"))).toBe("yes");
  });

  it("is taken over while it runs", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);

    const second = await openPrivateRedis(folder, OPTIONS);

    expect(second).toMatchObject({ taken_over: true, pid: first.pid, url: first.url });
  });

  it("comes back with its data after SIGKILL", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);
    await ask(first, (client) => client.set("kept", "yes"));
    // The file is synced each second; a killed process loses nothing that reached the kernel.
    process.kill(first.pid, "SIGKILL");
    await waitFor(() => !first.isRunning(), { bound_ms: 5_000, what: "the server ends" });

    const second = await openPrivateRedis(folder, OPTIONS);

    expect(await ask(second, (client) => client.get("kept"))).toBe("yes");
  });

  it("moves to another port where a stranger has its own, and keeps its password", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);
    await first.stop();
    const stranger = await listenOn(Number(new URL(first.url).port));
    undo.push(() => void stranger.close());

    const second = await openPrivateRedis(folder, OPTIONS);

    expect(new URL(second.url).port).not.toBe(new URL(first.url).port);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it("does not move while programs use its URL", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);
    await first.stop();
    const stranger = await listenOn(Number(new URL(first.url).port));

    await expect(openPrivateRedis(folder, { ...OPTIONS, may_move: false })).rejects.toThrow("no free port");
    await new Promise((resolve) => stranger.close(resolve));

    expect((await openPrivateRedis(folder, { ...OPTIONS, may_move: false })).url).toBe(first.url);
  });

  it("is never started beside a server that has its data and does not answer as ours", async () => {
    const folder = freshFolder();
    const first = await openPrivateRedis(folder, OPTIONS);
    rmSync(folder.redis_config_file);

    await expect(openPrivateRedis(folder, OPTIONS)).rejects.toThrow(`pid ${first.pid}`);
    expect(serversIn(folder.redis_directory).map(({ pid }) => pid)).toEqual([first.pid]);
  });

  it("names the Debian package where redis-server is not on PATH", async () => {
    await expect(openPrivateRedis(freshFolder(), { ...OPTIONS, path: "/nowhere" })).rejects.toThrow(
      "apt-get install redis-server",
    );
  });
});

describe("a data folder", () => {
  it("is not made of a folder that holds other files", () => {
    const path = scratchFolder("other");
    undo.push(() => rmSync(path, { recursive: true, force: true }));
    writeFileSync(join(path, "thesis.txt"), "");
    chmodSync(path, 0o755);

    expect(() => prepareDataFolder(path)).toThrow("holds other files");
    expect(modeOf(path)).toBe("755");
  });

  it("is not taken from another user, who could put a Redis of their own into it", () => {
    const path = scratchFolder("foreign");
    undo.push(() => rmSync(path, { recursive: true, force: true }));
    prepareDataFolder(path);
    writePrivateFile(dataFolderAt(path).url_file, "redis://127.0.0.1:1");
    const lock = takeUpLock(path);
    expect(findFleet(readCliConfig({}), path).redis_url).toBe("redis://127.0.0.1:1");

    chownSync(path, 12_345, 12_345);

    expect(lock.kind).toBe("taken");
    expect(() => prepareDataFolder(path)).toThrow("belongs to another user");
    expect(() => findFleet(readCliConfig({}), path)).toThrow("belongs to another user");
  });
});
