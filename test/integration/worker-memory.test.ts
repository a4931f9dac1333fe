/** A worker's memory is bounded by what it is, not by what its tasks write (AT-B6). */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openClient } from "@holdfast/client";
import { drawFleetId } from "@holdfast/contract";
import { expect, it } from "vitest";
import { expectNothingLeft, fleetEnv, SHELL_IMAGE } from "../support/fleet.js";
import { waitFor } from "../support/wait-for.js";

const WORKER = join(import.meta.dirname, "../../apps/worker/dist/main.js");
const GROWTH_MB_MAX = 256;

function residentMb(pid: number): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1_024;
}

it("memory stays bounded while a task writes 1 GB, and SIGTERM ends the program with 0", async () => {
  const fleet_id = drawFleetId();
  const env = fleetEnv({ env: { HOLDFAST_FLEET: fleet_id } });
  const worker = spawn(process.execPath, [WORKER], { env: { ...process.env, ...env }, stdio: "ignore" });
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  const client = await openClient({
    redis_url: env["REDIS_URL"] ?? "",
    prefix: env["HOLDFAST_PREFIX"] ?? "",
    queue_prefix: env["HOLDFAST_QUEUE_PREFIX"] ?? "",
  });
  try {
    const ready = async () => (await client.hosts()).some(({ boots }) => boots.some(({ state }) => state === "LIVE"));
    await waitFor(ready, { bound_ms: 60_000, what: "the worker is registered" });
    const command = ["sh", "-c", "yes 0123456789abcdef0123456789abcdef | head -c 1000000000"];
    const before = residentMb(worker.pid ?? 0);
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, residentMb(worker.pid ?? 0));
    }, 100);

    const outcome = await client.outcome(await client.submit({ image: SHELL_IMAGE, command, timeout_seconds: 600 }));
    clearInterval(watch);

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { total_bytes: 1_000_000_000, truncated: true } });
    expect(most - before).toBeLessThan(GROWTH_MB_MAX);
  } finally {
    worker.kill("SIGTERM");
  }
  expect(await ended).toBe(0);
  const [host] = await client.hosts();
  expect(host?.boots.every(({ state }) => state === "DEAD")).toBe(true);
  await client.close();
  await expectNothingLeft((env["DOCKER_HOST"] ?? "").slice("unix://".length), fleet_id, env);
}, 600_000);
