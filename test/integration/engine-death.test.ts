/** E4: a sandbox ends by itself when whoever holds it is gone; and who is to blame for an end is told apart. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { drawBootId } from "@holdfast/contract";
import { afterEach, describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import {
  containerOf,
  hostPids,
  openTestEngine,
  runIn,
  type TestEngine,
  worldSocket,
} from "../support/engine-fixture.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A process that holds every connection to the engine, as a worker does; its death closes them as a worker's would. */
const HOLDER = `
const net = require("node:net");
net.createServer({ allowHalfOpen: true }, (client) => {
  const engine = net.connect({ path: process.argv[1], allowHalfOpen: true });
  for (const end of [client, engine]) end.on("error", () => {});
  client.pipe(engine).pipe(client);
}).listen(process.argv[2], () => console.log("ready"));`;

async function heldByProcess(): Promise<{ world: TestEngine; holder: ChildProcess }> {
  const listen = join(scratchFolder("holder"), "engine.sock");
  const holder = spawn(process.execPath, ["-e", HOLDER, worldSocket(), listen], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  closers.push(async () => void holder.kill("SIGKILL"));
  if (holder.stdout === null) throw new Error("no output of the holder");
  await once(holder.stdout, "data");
  return { world: await openTestEngine({ socket: listen }), holder };
}

describe("the death of the worker", () => {
  it("ends its sandbox, with everything in it, within seconds and without any reaper (E4)", async () => {
    const { world, holder } = await heldByProcess();
    const sandbox = await world.sandbox();
    const { Id } = await containerOf(sandbox.sandbox_id);
    const running = runIn(sandbox, ["sh", "-c", "sleep 600 & sleep 600"]).catch((error: Error) => error.name);
    await waitFor(async () => (await hostPids(Id)).length >= 3, { bound_ms: 5_000, what: "the command runs" });

    const began = performance.now();
    holder.kill("SIGKILL");
    await waitFor(async () => !(await containerOf(sandbox.sandbox_id)).State.Running, {
      bound_ms: 5_000,
      what: "the sandbox ended by itself",
    });

    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await running).toBe("LinkLost");
    expect(await sandbox.ended).toMatchObject({ kind: "engine_lost" });
    const next = await openTestEngine({ fleet_id: world.engine.fleet_id, boot_id: drawBootId() });
    const counts = await next.engine.sweep({ held: new Set(), dead_boots: new Set([world.engine.boot_id]) });
    expect(counts).toMatchObject({ removed: 1, failed: 0 });
    await world.engine.close();
    await next.close();
  });
});

describe("who is to blame", () => {
  it("process 1 that ends while the engine is well is the user's doing", async () => {
    const world = await openTestEngine();
    closers.push(() => world.close());
    const sandbox = await world.sandbox();
    const { Id } = await containerOf(sandbox.sandbox_id);

    await engineAsk(worldSocket(), "POST", `/containers/${Id}/kill?signal=KILL`);

    expect(await sandbox.ended).toMatchObject({ kind: "guest_lost", oom_killed: false });
    expect(await sandbox.destroy()).toMatchObject({ proven: true });
  });

  it("a sandbox that was paused from outside is not", async () => {
    const world = await openTestEngine();
    closers.push(() => world.close());
    const sandbox = await world.sandbox();
    const { Id } = await containerOf(sandbox.sandbox_id);

    await engineAsk(worldSocket(), "POST", `/containers/${Id}/pause`);

    expect(await sandbox.ended).toMatchObject({ kind: "engine_lost", detail: "paused from outside" });
    expect(await sandbox.destroy()).toMatchObject({ proven: true });
  });
});
