/** The engine goes away and comes back: nothing is lost, nothing is eaten from the queue, and status says why. */
import { rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";

const shell = (line: string) => ({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

/** A socket in front of the engine's that can be cut, and mended again. */
async function cuttableSocket(target: string) {
  const path = join(scratchFolder("engine"), "engine.sock");
  const open = new Set<Socket>();
  let cut = false;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (cut) return near.destroy();
    const far = connect({ path: target, allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    cut: () => {
      cut = true;
      for (const socket of open) socket.destroy();
    },
    mend: () => {
      cut = false;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      rmSync(path, { force: true });
    },
  };
}

let engine: Awaited<ReturnType<typeof cuttableSocket>>;
let fleet: TestFleet;
beforeEach(async () => {
  engine = await cuttableSocket(process.env["HOLDFAST_TEST_ENGINE_SOCKET"] ?? "/var/run/docker.sock");
  fleet = await startFleet({ env: { DOCKER_HOST: `unix://${engine.path}` } });
});
afterEach(async () => {
  await fleet.stopAndExpectNothingLeft();
  await engine.close();
});

it("a task waits and says why; one that ran is handed back uncounted and runs again (T2, L3)", async () => {
  const running = await fleet.start({ ...shell("echo on; sleep 4; echo done"), attempts_max: 1 });

  engine.cut();
  const cut = performance.now();
  await waitFor(() => !fleet.worker.ready(), { bound_ms: 10_000, what: "the worker sees that its engine is away" });
  const waiting = await fleet.client.submit(shell("echo later"));
  await waitFor(async () => (await fleet.client.status(waiting)).waiting?.reason === "engine_unavailable", {
    bound_ms: 5_000,
    what: "status names the engine",
  });
  expect((await fleet.client.status(waiting)).status).toBe("PENDING");
  expect(performance.now() - cut).toBeLessThan(15_000);
  engine.mend();

  expect(await fleet.client.outcome(waiting)).toMatchObject({ status: "SUCCEEDED", attempt: 1 });
  expect(await fleet.client.outcome(running)).toMatchObject({
    status: "SUCCEEDED",
    attempt: 2,
    stdout: { text: "on\ndone\n" },
  });
  await fleet.expectCapacityFree(20_000);
});
