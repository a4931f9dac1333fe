/** Creations that fail half-way, answers that get lost, agents that are not ours: nothing is left, nothing runs. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawBootId, drawFleetId } from "@holdfast/contract";
import { afterEach, describe, expect, it } from "vitest";
import { dropReply, type FaultProxy, fail, startEngineProxy } from "../faults/lab/proxy.js";
import { engineCensus } from "../support/census.js";
import { engineAsk } from "../support/engine-call.js";
import {
  compileProgram,
  containerOf,
  openTestEngine,
  type TestEngine,
  worldSocket,
} from "../support/engine-fixture.js";
import { scratchFolder } from "../support/scratch.js";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function behindProxy(): Promise<{ world: TestEngine; proxy: FaultProxy }> {
  const listen = join(scratchFolder("proxy"), "engine.sock");
  const proxy = await startEngineProxy({ socket: worldSocket(), listen });
  const world = await openTestEngine({ socket: listen });
  closers.push(
    () => proxy.close(),
    async () => {
      await proxy.heal();
      await world.close();
    },
  );
  return { world, proxy };
}

const CREATE = { command: "POST", path: /\/containers\/create/ };
const START = { command: "POST", path: /\/start/ };
const ATTACH = { command: "POST", path: /\/attach/ };
const INSPECT = { command: "GET", path: /\/containers\/[0-9a-f]{64}\/json/ };
const KILL = { command: "POST", path: /\/kill/ };
const REMOVE = { command: "DELETE", path: /\/containers\// };

describe("a creation whose first try fails", () => {
  it.each([
    ["create is lost after it took effect", CREATE, dropReply()],
    ["attach is lost", ATTACH, dropReply()],
    ["start is refused by the engine", START, fail("oci runtime error: secret path")],
    ["inspect fails", INSPECT, fail("internal error")],
  ])("is cleaned up at once and tried again, when %s (E1)", async (_, selector, action) => {
    const { world, proxy } = await behindProxy();
    proxy.on(selector, action);
    const wanted = world.spec();

    const reply = await world.engine.create(wanted);

    expect(reply.kind).toBe("ready");
    expect(world.notices.filter(({ event }) => event === "creation_try_failed")).toHaveLength(1);
    const found = await world.engine.list();
    expect(found.map(({ sandbox_id, state }) => [sandbox_id, state])).toEqual([[wanted.sandbox_id, "running"]]);
    if (reply.kind === "ready") await reply.sandbox.destroy();
  });
});

describe("a creation whose every try fails", () => {
  it("ends as ENGINE_UNAVAILABLE, hands back, shows no word of the engine and leaves nothing", async () => {
    const { world, proxy } = await behindProxy();
    proxy.on({ ...START, every: true }, fail("oci runtime error: /var/lib/secret"));

    const reply = await world.engine.create(world.spec());

    expect(reply).toMatchObject({ kind: "failed", failure: { hand_back: true, tries: 3 } });
    if (reply.kind !== "failed") return;
    expect(reply.failure.error).toMatchObject({ code: "ENGINE_UNAVAILABLE", fault: "platform", retryable: true });
    expect(JSON.stringify(reply.failure.error)).not.toMatch(/secret|oci|\/var/);
    expect(await reply.failure.cleanup).toMatchObject({ proven: true });
    expect(await world.engine.list()).toEqual([]);
  });

  it("keeps cleaning while the engine does not let it, and proves it once it does", async () => {
    const { world, proxy } = await behindProxy();
    proxy.on({ ...START, every: true }, fail("no"));
    const removals = proxy.on({ ...REMOVE, every: true }, fail("device or resource busy"));
    const reply = await world.engine.create(world.spec());
    if (reply.kind !== "failed") throw new Error("it came to be");
    expect(reply.failure.tries).toBe(1);
    expect(await world.engine.list()).toHaveLength(1);

    removals.remove();

    expect(await reply.failure.cleanup).toMatchObject({ proven: true });
    expect(await world.engine.list()).toEqual([]);
  });
});

describe("a destruction", () => {
  it("asks process 1 to end and the engine to remove it, and has no need of a kill", async () => {
    const { world, proxy } = await behindProxy();
    const sandbox = await world.sandbox();
    const before = proxy.log.length;

    expect(await sandbox.destroy()).toMatchObject({ proven: true });

    const requests = proxy.log.slice(before).filter(({ phase, name }) => phase === "request" && name !== "");
    expect(requests.map(({ name, detail }) => `${name} ${detail?.split("/").at(-1)?.slice(0, 4)}`)).toEqual([
      "POST wait",
      expect.stringMatching(/^DELETE [0-9a-f]{4}$/),
    ]);
  });

  it("kills a process 1 that does not end when asked, though the answer of kill or remove gets lost", async () => {
    for (const selector of [KILL, REMOVE]) {
      const { world, proxy } = await behindProxy();
      const sandbox = await world.sandbox();
      process.kill((await containerOf(sandbox.sandbox_id)).State.Pid, "SIGSTOP");
      const rule = proxy.on(selector, dropReply());

      const receipt = await sandbox.destroy();

      expect(rule.hits).toHaveLength(1);
      expect(receipt).toMatchObject({ proven: true });
      expect(await world.engine.list()).toEqual([]);
    }
  });

  it("says that nothing is proven while the engine is away, and ends as engine_lost, not by the user's fault", async () => {
    const { world, proxy } = await behindProxy();
    const sandbox = await world.sandbox();

    await proxy.set({ kind: "cut" });

    expect(await sandbox.ended).toMatchObject({ kind: "engine_lost" });
    expect(await sandbox.destroy()).toMatchObject({ proven: false });
    expect(await world.engine.ping()).toBe(false);
    await proxy.heal();
    expect(await sandbox.destroy()).toMatchObject({ proven: true });
  });
});

/** A folder that holds `program` as if it were the built agent. */
function agentFolder(program: Buffer): string {
  const folder = scratchFolder("agent");
  writeFileSync(join(folder, "holdfast-agent"), program);
  writeFileSync(join(folder, "holdfast-agent.sha256"), createHash("sha256").update(program).digest("hex"));
  return folder;
}

describe("an agent that cannot serve", () => {
  it("says nothing: no image is offered, and every try is cleaned up in its time", async () => {
    const world = await openTestEngine({ agent_directory: agentFolder(readFileSync(compileProgram("silent"))) });
    closers.push(() => world.close());

    expect(world.engine.images).toEqual([]);
    expect(world.engine.refused_images[0]?.reason).toContain("SANDBOX_LOST");
    expect(await world.engine.list()).toEqual([]);
  }, 90_000);

  it("is no program: it ends at once, and nothing is left", async () => {
    const world = await openTestEngine({ agent_directory: agentFolder(Buffer.from("not a program")) });
    closers.push(() => world.close());

    expect(world.engine.images).toEqual([]);
    expect(world.engine.refused_images[0]?.reason).toContain("SANDBOX_LOST");
    expect(await world.engine.list()).toEqual([]);
  }, 90_000);
});

/** As a worker that died while filling it would leave the volume. */
const SPOILT = {
  "filled by half": "cd /v && head -c 4096 holdfast-agent > half && mv half holdfast-agent && chmod 555 holdfast-agent",
  "not filled at all": "rm /v/holdfast-agent",
} as const;

describe("the agent's volume", () => {
  it.each(Object.entries(SPOILT))("that was %s is noticed and filled again", async (_, command) => {
    const fleet_id = drawFleetId();
    const first = await openTestEngine({ fleet_id });
    const { volumes } = await engineCensus(worldSocket(), fleet_id);
    const volume = volumes.find((name) => name.startsWith(`holdfast-agent-${fleet_id}-`)) ?? "";
    await spoil(volume, command);

    const sandbox = await first.sandbox();

    expect(first.notices.filter(({ event }) => event === "creation_try_failed")).toHaveLength(1);
    await sandbox.ping();
    await sandbox.destroy();
    await spoil(volume, command);
    const second = await openTestEngine({ fleet_id, boot_id: drawBootId() });
    expect(second.engine.images).toHaveLength(1);
    await second.sandbox();
    expect(second.notices).toEqual([]);
    await second.close();
    await first.close();
  });
});

async function spoil(volume: string, command: string): Promise<void> {
  const { Id } = (await engineAsk(worldSocket(), "POST", "/containers/create", {
    Image: "holdfast/shell:1",
    Cmd: ["sh", "-c", command],
    Labels: { "holdfast-test.owner": "engine-failures" },
    HostConfig: { NetworkMode: "none", Mounts: [{ Type: "volume", Source: volume, Target: "/v" }] },
  })) as { Id: string };
  await engineAsk(worldSocket(), "POST", `/containers/${Id}/start`);
  await engineAsk(worldSocket(), "POST", `/containers/${Id}/wait`);
  await engineAsk(worldSocket(), "DELETE", `/containers/${Id}`);
}
