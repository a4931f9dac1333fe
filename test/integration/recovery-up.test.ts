/** `holdfast up` is killed and started again: it heals by itself, whatever state its containers were left in. */
import { drawSandboxId } from "@holdfast/contract";
import { afterEach, beforeAll, expect, it } from "vitest";
import { type Bench, buildPrograms, openBench } from "../e2e/cli-bench.js";
import { engineCensus, type FoundContainer } from "../support/census.js";
import { engineAsk } from "../support/engine-call.js";
import { waitFor } from "../support/wait-for.js";

/** From the new worker's first beat. */
const HEALED_MS = 20_000;
const SOCKET = process.env["HOLDFAST_TEST_ENGINE_SOCKET"] ?? "/var/run/docker.sock";

let bench: Bench;
beforeAll(buildPrograms);
afterEach(() => bench.close());

const containers = async () => (await engineCensus(SOCKET, bench.fleetId())).containers;

type State = "created" | "running" | "paused" | "exited";

/** One more container with the labels of a real one, but made by no worker of today: none will end by itself. */
async function leave(like: FoundContainer, state: State): Promise<void> {
  const boot = like.labels["holdfast.boot"] ?? "";
  const sandbox = drawSandboxId();
  const ask = (path: string, body?: unknown) => engineAsk(SOCKET, "POST", path, body);
  const { Id } = (await ask(`/containers/create?name=holdfast-${boot}-${sandbox}-1`, {
    Image: "holdfast/shell:1",
    Cmd: state === "exited" ? ["true"] : ["sleep", "3600"],
    Labels: { ...like.labels, "holdfast.sandbox": sandbox },
    HostConfig: { NetworkMode: "none" },
  })) as { Id: string };
  if (state !== "created") await ask(`/containers/${Id}/start`);
  if (state === "paused") await ask(`/containers/${Id}/pause`);
  if (state === "exited") await ask(`/containers/${Id}/wait`);
}

it("after kill -9 no container of the old boot is left within 20 s of the new worker's first beat (E1, T2)", async () => {
  bench = openBench();
  const up = await bench.up();
  const task = (await bench.holdfast("submit", "--", "sh", "-c", "sleep 6; echo done")).stdout.toString().trim();
  const [real] = await waitFor(async () => ((await containers()).length > 0 ? containers() : null), {
    bound_ms: 30_000,
    what: "the task has a container",
  });
  if (real === undefined) throw new Error("no container");
  await waitFor(async () => (await bench.holdfast("status", task)).stdout.toString().includes("RUNNING"), {
    bound_ms: 20_000,
    what: "the task runs",
  });
  const old_boot = real.labels["holdfast.boot"];

  up.child.kill("SIGKILL");
  await up.ended;
  for (const state of ["created", "running", "paused", "exited"] as const) await leave(real, state);
  await bench.up();
  const ready = performance.now();
  const left = async () => (await containers()).filter(({ labels }) => labels["holdfast.boot"] === old_boot);
  expect(
    (await left()).map(({ state }) => state),
    "nobody is taken for dead before his lease is over",
  ).toContain("running");

  const bound_ms = HEALED_MS - (performance.now() - ready);
  await waitFor(async () => (await left()).length === 0, { bound_ms, what: "no container of the old boot is left" });

  expect((await bench.holdfast("watch", task)).code).toBe(0);
  expect((await bench.holdfast("outcome", task)).stdout.toString()).toMatch(/attempt +2\n/);
  expect((await bench.holdfast("run", "--", "echo", "well")).stdout.toString()).toBe("well\n");
}, 120_000);
