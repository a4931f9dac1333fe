/** A host that cannot prove its limits takes no tasks, says so, and takes them as soon as it can. */
import { copyFileSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { AGENT_DIRECTORY } from "../support/engine-fixture.js";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";

let fleet: TestFleet | undefined;
afterEach(async () => {
  await fleet?.stopAndExpectNothingLeft();
});

const hello = { image: SHELL_IMAGE, command: ["echo", "hello"] };
const PROVER = "holdfast-prover";

/** The built agent, beside a prover that proves nothing. */
function agentWithoutProofs(): string {
  const folder = scratchFolder("agent");
  cpSync(AGENT_DIRECTORY, folder, { recursive: true });
  writeFileSync(join(folder, PROVER), "no program");
  return folder;
}

it("at its start and until it is mended; what waited runs then, and hosts and status name the cause (E3)", async () => {
  const folder = agentWithoutProofs();
  const env = {
    HOLDFAST_AGENT_DIRECTORY: folder,
    HOLDFAST_SELF_CHECK_SECONDS: "3600",
    HOLDFAST_SELF_CHECK_RETRY_SECONDS: "1",
  };
  fleet = await startFleet({ env });
  const { client, worker, metric } = fleet;
  const failed = ["memory", "pids", "disk", "network", "kill_tree", "seccomp"];

  expect([worker.ready(), worker.failed_checks]).toEqual([false, failed]);
  const waiting = await client.submit(hello);
  const says = async () => (await client.status(waiting)).waiting?.reason === "host_unfit";
  await waitFor(says, { bound_ms: 5_000, what: "status names the self-check" });
  const [host] = await client.hosts();
  expect(host?.boots.map((boot) => boot.failed_checks)).toEqual([failed]);
  expect(await metric("holdfast_self_check_fit")).toBe(0);
  expect((await client.status(waiting)).status).toBe("PENDING");

  copyFileSync(join(AGENT_DIRECTORY, PROVER), join(folder, PROVER));

  expect(await client.outcome(waiting)).toMatchObject({ status: "SUCCEEDED", attempt: 1, stdout: { text: "hello\n" } });
  expect([worker.ready(), worker.failed_checks]).toEqual([true, []]);
  const told = async () =>
    (await client.hosts()).every(({ boots }) => boots.every((boot) => boot.failed_checks.length === 0));
  await waitFor(told, { bound_ms: 5_000, what: "its beat says that it is fit" });
  expect(await metric("holdfast_self_check_fit")).toBe(1);
}, 60_000);

it("each hour anew, beside what it runs: a proof that fails later lets running tasks end, and takes no new one", async () => {
  const folder = scratchFolder("agent");
  cpSync(AGENT_DIRECTORY, folder, { recursive: true });
  const env = {
    HOLDFAST_AGENT_DIRECTORY: folder,
    HOLDFAST_SELF_CHECK_SECONDS: "1",
    HOLDFAST_SELF_CHECK_RETRY_SECONDS: "3600",
  };
  fleet = await startFleet({ env });
  const { client, worker, start } = fleet;
  expect(worker.failed_checks).toEqual([]);
  const running = await start({ image: SHELL_IMAGE, command: ["sh", "-c", "sleep 3; echo done"] });

  writeFileSync(join(folder, PROVER), "no program");

  await waitFor(() => worker.failed_checks.length > 0, { bound_ms: 15_000, what: "the next proof fails" });
  expect(worker.ready()).toBe(false);
  expect(await client.outcome(running)).toMatchObject({ status: "SUCCEEDED", stdout: { text: "done\n" } });
  const waiting = await client.submit(hello);
  const says = async () => (await client.status(waiting)).waiting?.reason === "host_unfit";
  await waitFor(says, { bound_ms: 5_000, what: "status names the self-check" });
  expect(await client.cancel(waiting)).toMatchObject({ kind: "cancelled" });
}, 60_000);
