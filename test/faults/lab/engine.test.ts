import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { foreignCensus } from "../../support/census.js";
import { engineAsk, engineCall } from "../../support/engine-call.js";
import { containersOf, type LabEngine, startLabEngine } from "./engine.js";
import { worldEngineSocket } from "./given-world.js";
import { endAllProcesses } from "./processes.js";

const open: LabEngine[] = [];
const IMAGE = "holdfast/shell:1";
let archive = "";

beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), "hf-archive-"));
  archive = join(folder, "shell.tar");
  execFileSync("docker", ["-H", `unix://${worldEngineSocket()}`, "save", "-o", archive, IMAGE]);
  return () => rmSync(folder, { recursive: true, force: true });
});

afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
  await endAllProcesses();
});

async function setup(): Promise<LabEngine> {
  const engine = await startLabEngine();
  open.push(engine);
  return engine;
}

/** Rules and addresses of the machine, as far as engines change them. */
function machine(): string {
  const rules = execFileSync("iptables", ["-S"], { encoding: "utf8" });
  const forward = readFileSync("/proc/sys/net/ipv4/ip_forward", "utf8");
  return `${rules}${forward}${execFileSync("ip", ["-br", "addr", "show", "docker0"], { encoding: "utf8" })}`;
}

async function runSleeper(engine: LabEngine): Promise<string> {
  await engine.load(archive);
  const { Id: id } = (await engineAsk(engine.socket, "POST", "/containers/create", {
    Image: IMAGE,
    Cmd: ["sleep", "600"],
    StopTimeout: 0,
    HostConfig: { NetworkMode: "none" },
  })) as { Id: string };
  await engineAsk(engine.socket, "POST", `/containers/${id}/start`);
  return id;
}

describe("private engines", () => {
  it("stand two beside the machine's own, each with its own containers, and leave everything else as it was (E2)", async () => {
    const before = [...(await foreignCensus(worldEngineSocket())), machine()];

    const [first, second] = [await setup(), await setup()];
    const id = await runSleeper(first);
    const [seenByFirst, seenBySecond] = [await containersOf(first.socket), await containersOf(second.socket)];
    const memory = [first.residentMb(), second.residentMb()];
    for (const engine of open.splice(0)) await engine.close();

    expect(seenByFirst.map((container) => [container.id, container.state])).toEqual([[id, "running"]]);
    expect(seenBySecond).toEqual([]);
    expect(Math.max(...memory)).toBeLessThan(400);
    expect([...(await foreignCensus(worldEngineSocket())), machine()]).toEqual(before);
  });

  it("comes back over its data after kill -9, with the container that ran seen as ended", async () => {
    const engine = await setup();
    const id = await runSleeper(engine);

    await engine.kill();
    await expect(engineCall(engine.socket, "GET", "/_ping")).rejects.toThrow();
    await engine.restart();

    const [found] = await containersOf(engine.socket);
    expect([found?.id, found?.state]).toEqual([id, "exited"]);
  });

  it("does not answer while frozen", async () => {
    const engine = await setup();

    await engine.freeze();
    await expect(engineCall(engine.socket, "GET", "/_ping", undefined, 300)).rejects.toThrow();
    engine.thaw();

    expect((await engineCall(engine.socket, "GET", "/_ping")).status).toBe(200);
  });

  it("leaves no file, mount, program or bridge, also where it was killed with a container running", async () => {
    const engine = await setup();
    await runSleeper(engine);
    await engine.kill();

    await engine.close();

    expect(existsSync(engine.folder)).toBe(false);
    expect(readFileSync("/proc/mounts", "utf8")).not.toContain(engine.folder);
    expect(existsSync(`/sys/class/net/${engine.bridge}`)).toBe(false);
    const programs = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
    expect(programs).not.toContain(engine.folder);
  });
});
