/** `holdfast supervise` cares for a fleet whose only worker is gone, beside another supervisor and a live worker. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { silentLogger } from "@holdfast/chassis";
import { readWorkerConfig, startSupervisor } from "@holdfast/worker";
import { afterEach, expect, it } from "vitest";
import { freePort } from "../support/free-port.js";
import { waitFor } from "../support/wait-for.js";
import { openRecoveryBench, type RecoveryBench } from "./recovery-bench.js";

const CLI = join(import.meta.dirname, "../../apps/cli/dist/main.js");
/** Lease, observation, lost tail, one period of recovery and of the sweep. */
const RECOVERED_MS = 18_000;

let bench: RecoveryBench;
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await bench.close();
});

/** As the command line runs it. */
async function supervise() {
  const port = await freePort();
  const env = { ...process.env, ...bench.env, HOLDFAST_SUPERVISE_PORT: String(port) };
  const child = spawn(process.execPath, [CLI, "supervise"], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const page = async (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const stop = async () => {
    child.kill("SIGTERM");
    return exited;
  };
  stops.push(stop);
  await waitFor(() => said.includes("ready"), { bound_ms: 30_000, what: "supervise says that it is ready" });
  return { page, stop, said: () => said };
}

async function superviseWithoutEngine() {
  const env = { ...bench.env, HOLDFAST_SUPERVISE_PORT: "0", DOCKER_HOST: "unix:///nowhere/engine.sock" };
  const supervisor = await startSupervisor(readWorkerConfig(env), { logger: silentLogger() });
  stops.push(supervisor.stop);
  return supervisor;
}

it("ends what a killed worker left, frees it, requeues its tasks, and a later worker runs them (T2, C2, E1, E2, Q1)", async () => {
  bench = await openRecoveryBench({ HOLDFAST_SLOTS: "2" });
  const worker = await bench.worker();
  const live = [await bench.start("sleep 300"), await bench.start("sleep 300")];
  const waits = await bench.submit("echo three");
  const supervisor = await supervise();
  const other = await superviseWithoutEngine();
  expect((await supervisor.page("/readyz")).status).toBe(200);
  expect([other.ready(), other.host_id, other.fleet_id]).toEqual([true, null, bench.fleet_id]);

  expect(await bench.containersOf(worker.boot_id), "beside a live worker nobody ends what it holds").toHaveLength(2);
  for (const task of live) await bench.client.cancel(task);
  const killed = await bench.start("sleep 300", { attempts_max: 1 });
  const lost = await bench.start("sleep 300");
  await worker.signal("SIGKILL");
  const gone = async () => (await bench.containers()).length === 0 && (await bench.reserved()) === 0;
  await waitFor(gone, { bound_ms: RECOVERED_MS, what: "its containers are gone and its slots free" });

  const boots = (await bench.client.hosts()).flatMap((host) => host.boots);
  expect(boots.filter(({ state }) => state !== "DEAD")).toEqual([]);
  expect(await bench.client.outcome(killed)).toMatchObject({ error: { code: "ATTEMPTS_EXHAUSTED" } });
  expect((await bench.client.status(lost)).status).toBe("PENDING");
  const text = await (await supervisor.page("/metrics")).text();
  expect(text).toMatch(/holdfast_reservations_freed_total\{right="proof"\} 2/);
  expect(text).toContain("holdfast_engine_healthy 1");

  await bench.worker();
  const again = async () => (await bench.client.status(lost)).status === "RUNNING";
  await waitFor(again, { bound_ms: 30_000, what: "the task of the killed worker runs again" });
  await bench.client.cancel(lost);
  const outcomes = await Promise.all([...live, waits, lost].map((task) => bench.client.outcome(task)));
  expect(outcomes.map(({ status, attempt }) => [status, attempt])).toEqual([
    ["CANCELLED", 1],
    ["CANCELLED", 1],
    ["SUCCEEDED", 1],
    ["CANCELLED", 2],
  ]);
  expect(await supervisor.stop()).toBe(0);
}, 120_000);
