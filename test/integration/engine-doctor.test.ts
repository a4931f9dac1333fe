/** What a doctor tells apart, each failure provoked for real or by an engine that refuses. */
import { chmodSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { dirname, join } from "node:path";
import { type Check, type Diagnosis, diagnoseEngine, failedNames } from "@holdfast/engine";
import { readProver } from "@holdfast/guest";
import { afterEach, describe, expect, it } from "vitest";
import { lookAtEngine } from "../../packages/engine/src/doctor/engine-look.js";
import { bringProver, PROOFS, prove } from "../../packages/engine/src/doctor/proofs.js";
import { type FaultProxy, fail, type Selector, startEngineProxy } from "../faults/lab/proxy.js";
import { engineAsk } from "../support/engine-call.js";
import { AGENT_DIRECTORY, openTestEngine, SMALL, worldSocket } from "../support/engine-fixture.js";
import { scratchFolder } from "../support/scratch.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

const NOBODY = 65_534;
const SHELL = [{ image: "holdfast/shell:1" }];

async function diagnose(socket_path: string, images: readonly object[] = SHELL): Promise<Diagnosis> {
  const images_file = join(scratchFolder("doctor"), "allow.json");
  writeFileSync(images_file, JSON.stringify({ images }));
  return diagnoseEngine({ socket_path, images_file, agent_directory: AGENT_DIRECTORY });
}

const named = ({ checks }: Diagnosis, name: string): Check => {
  const found = checks.find((check) => check.name === name);
  if (found === undefined) throw new Error(`no check ${name}`);
  return found;
};

async function proxied(selector: Selector, text: string): Promise<string> {
  const listen = join(scratchFolder("doctor"), "engine.sock");
  const proxy: FaultProxy = await startEngineProxy({ socket: worldSocket(), listen });
  undo.push(() => proxy.close());
  proxy.on({ ...selector, every: true }, fail(text));
  return listen;
}

/** Something that listens where an engine should, and answers each path with what it is given. */
async function engineThatSays(answers: Readonly<Record<string, object>>): Promise<string> {
  const listen = join(scratchFolder("doctor"), "engine.sock");
  const server: Server = createServer((request, response) => {
    const path = (request.url ?? "").replace(/^\/v[0-9.]+/, "").replace(/\?.*$/, "");
    const answer = answers[path];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? { message: "page not found" }));
  });
  await new Promise<void>((resolve) => server.listen(listen, resolve));
  undo.push(() => server.close());
  return listen;
}

/** Volumes and containers of doctors' fleets, of which none outlives its run. */
async function leftovers(): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: ["holdfast.fleet"] }));
  const { Volumes } = (await engineAsk(worldSocket(), "GET", `/volumes?filters=${filters}`)) as {
    Volumes: { Name: string }[] | null;
  };
  const rows = (await engineAsk(worldSocket(), "GET", `/containers/json?all=1&filters=${filters}`)) as {
    Names: string[];
    Labels: Record<string, string>;
  }[];
  const containers = rows.filter(({ Labels }) => Labels["holdfast.fleet"]?.startsWith("doctor_"));
  const volumes = (Volumes ?? []).map(({ Name }) => Name).filter((name) => name.includes("-doctor_"));
  return [...volumes, ...containers.flatMap(({ Names }) => Names)];
}

describe("an engine that cannot be asked", () => {
  it("is told apart: no socket, nobody behind it, no engine behind it; nothing else is tried", async () => {
    const folder = scratchFolder("doctor");
    writeFileSync(join(folder, "nobody.sock"), "");
    const other = await engineThatSays({ "/version": { hello: "world" } });

    const seen = await Promise.all(
      [join(folder, "none.sock"), join(folder, "nobody.sock"), other].map((path) => diagnose(path)),
    );

    expect(seen.map((found) => named(found, "engine").seen)).toEqual([
      expect.stringContaining("there is no socket"),
      expect.stringContaining("nobody answers"),
      expect.stringContaining("not as an engine"),
    ]);
    for (const found of seen) {
      expect(failedNames(found.checks)).toEqual(["engine"]);
      expect(named(found, "memory").state).toBe("skipped");
    }
  });
});

describe("an engine that this user may not ask", () => {
  const setUser = (uid: number) => process.seteuid?.(uid);

  it("is told apart from one that is not there", async () => {
    const socket = await engineThatSays({});
    chmodSync(socket, 0o600);
    chmodSync(dirname(socket), 0o755);
    undo.push(() => setUser(0));
    setUser(NOBODY);

    const { checks } = await lookAtEngine(socket);

    setUser(0);
    expect(checks).toMatchObject([{ name: "engine", state: "failed" }]);
    expect(checks[0]?.seen).toContain("may not be opened by this user");
    expect(checks[0]?.remedy).toContain("usermod -aG docker");
  });
});

describe("an engine whose configuration is broken", () => {
  it("is refused by what it says of itself, before anything is made in it", async () => {
    const version = { ApiVersion: "1.41", MinAPIVersion: "1.12" };
    const info = { ServerVersion: "20.10.24", OSType: "linux", NCPU: 2, MemTotal: 2 ** 33, Driver: "overlay2" };

    const found = await diagnose(await engineThatSays({ "/version": version, "/info": info }));

    expect(failedNames(found.checks)).toEqual(["cgroup_limits", "engine_seccomp", "storage", "runtime"]);
    expect(named(found, "sandbox").state).toBe("skipped");
  });

  it("has no storage to make a volume in: the set-up fails in the engine's own words", async () => {
    const socket = await proxied({ command: "POST", path: /\/volumes\/create/ }, "no space left on device");

    const found = await diagnose(socket);

    expect(failedNames(found.checks)).toEqual(["set_up"]);
    expect(named(found, "set_up").seen).toContain("no space left on device");
  });

  it("makes no sandbox: told with the engine's words, and each proof is skipped", async () => {
    const socket = await proxied({ command: "POST", path: /\/start/ }, "OCI runtime create failed");

    const found = await diagnose(socket);

    expect(failedNames(found.checks)).toContain("images");
    expect(found.checks.some(({ seen }) => seen.includes("OCI runtime create failed"))).toBe(true);
    expect(named(found, "memory").state).toBe("skipped");
    expect(await leftovers()).toEqual([]);
  }, 60_000);

  it("lacks an image: a warning while another is there, a failure where none is", async () => {
    const absent = [{ image: "holdfast-test/absent:1" }];

    const none = await diagnose(worldSocket(), absent);

    expect(failedNames(none.checks)).toEqual(expect.arrayContaining(["images", "sandbox"]));
    expect(named(none, "images").seen).toContain("it is not in this engine");
    expect(await leftovers()).toEqual([]);
  }, 60_000);
});

describe("a proof in a real sandbox", () => {
  it("of a limit that is wider than was said fails, whichever limit that is", async () => {
    const world = await openTestEngine();
    undo.push(() => world.close());
    const wide = { cpu: 2, memory_mb: 512, disk_mb: 64, pids_limit: 128 };
    const said = { ...SMALL, cpu: 0.1, memory_mb: 16, disk_mb: 1, pids_limit: 1 };
    const sandbox = await world.sandbox({ resources: wide });
    await bringProver(sandbox, await readProver(AGENT_DIRECTORY));

    const limits = ["memory", "pids", "disk", "inodes", "cpu"];
    const states: string[] = [];
    for (const proof of PROOFS.filter(({ name }) => limits.includes(name))) {
      const check = await prove(sandbox, proof, said);
      states.push(`${check.name} ${check.state}`);
    }

    expect(states).toEqual(limits.map((name) => `${name} failed`));
  }, 60_000);

  it("fails where its sandbox is gone", async () => {
    const world = await openTestEngine();
    undo.push(() => world.close());
    const sandbox = await world.sandbox();
    await sandbox.destroy();
    const [proof] = PROOFS;
    if (proof === undefined) throw new Error("no proof");

    expect(await prove(sandbox, proof, SMALL)).toMatchObject({ name: proof.name, state: "failed" });
  });

  it("of the short form passes in one sandbox, of whatever image, and leaves none (E1)", async () => {
    const world = await openTestEngine({ images: [{ image: "holdfast/empty:1" }] });
    undo.push(() => world.close());

    const checks = await world.engine.selfCheck();

    expect(checks.map(({ name, state }) => `${name} ${state}`)).toEqual(
      ["memory", "pids", "disk", "network", "kill_tree", "seccomp", "disk_space"].map((name) => `${name} ok`),
    );
    expect(await world.engine.list()).toEqual([]);
  });
});

describe("the walls of this machine", () => {
  it("are all read, and leave room for sandboxes", async () => {
    const world = await openTestEngine();
    undo.push(() => world.close());

    const walls = await world.engine.walls();

    expect(walls.map(({ check }) => check.name)).toEqual([
      ...["kernel_pids", "kernel_keys", "kernel_inotify", "descriptors", "local_ports", "disk_space"],
    ]);
    expect(walls.filter(({ check }) => check.state === "skipped")).toEqual([]);
    expect(walls.flatMap(({ slots, pids }) => [slots ?? 1, pids ?? 1]).every((room) => room > 0)).toBe(true);
  });
});
