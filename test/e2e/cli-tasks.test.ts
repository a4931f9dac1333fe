import { createHash, randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, openBench, type Running } from "./cli-bench.js";

let bench: Bench;

beforeAll(async () => {
  buildPrograms();
  bench = openBench();
  await bench.up();
});

afterAll(() => bench.close());

const lines = (bytes: Buffer): Record<string, unknown>[] =>
  bytes
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function running(run: Running, what: string): Promise<void> {
  await waitFor(() => run.stdout().includes(what), { bound_ms: 30_000, what: `the task prints ${what}` });
}

describe("holdfast run", () => {
  it("shows the output and exits 0", async () => {
    const { code, stdout, stderr } = await bench.holdfast("run", "--", "python3", "-c", "print(6*7)");

    expect({ code, stdout: stdout.toString(), stderr }).toEqual({ code: 0, stdout: "42\n", stderr: "" });
  });

  it("exits with the command's own code", async () => {
    const { code, stderr } = await bench.holdfast("run", "--", "sh", "-c", "exit 7");

    expect({ code, stderr }).toEqual({ code: 7, stderr: "" });
  });

  it("exits 124 within 5 s at a time limit of 1 s, and says so", async () => {
    const { code, stderr, took_ms } = await bench.holdfast("run", "--timeout", "1", "--", "sleep", "60");

    expect(code).toBe(124);
    expect(stderr).toMatch(/^holdfast: .*time limit.*\n$/);
    expect(took_ms).toBeLessThan(5_000);
  });

  it("passes bytes through unchanged, each stream to its own (O-05)", async () => {
    const program = [
      "import sys",
      "sys.stdout.buffer.write(bytes(range(256)) * 4); sys.stdout.flush()",
      "sys.stderr.buffer.write(bytes([1, 0, 0, 0, 0, 0, 0, 5]) + b'hello')",
    ].join("\n");

    const run = bench.start(["run", "--", "python3", "-c", program]);
    const { code, stdout } = await run.ended;

    expect(code).toBe(0);
    expect(stdout).toEqual(Buffer.concat(Array(4).fill(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))));
    expect(run.stderr()).toBe("\u0001\0\0\0\0\0\0\u0005hello");
  });

  it("carries standard input, files with their exec bit, and environment", async () => {
    const input = randomBytes(300_000);
    const script = join(bench.data, "..", "probe.sh");
    writeFileSync(script, '#!/bin/sh\nprintf "%s " "$MODE"\nexec sha256sum\n');
    chmodSync(script, 0o755);
    const hash = createHash("sha256").update(input).digest("hex");

    const words = ["run", "--stdin", "-", "--file", `${script}:bin/probe`, "--env", "MODE=x y", "--", "bin/probe"];
    const { code, stdout, stderr } = await bench.start(words, input).ended;

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.toString()).toBe(`x y ${hash}  -\n`);
  });

  it("cancels on Ctrl-C and exits 130 once the task has ended (T3)", async () => {
    const run = bench.start(["run", "--", "sh", "-c", "echo started; sleep 300"]);
    await running(run, "started");

    run.child.kill("SIGINT");
    const { code, stderr } = await run.ended;

    expect(code).toBe(130);
    expect(stderr).toContain("cancelling the task");
    const listed = lines((await bench.holdfast("ls", "--json", "--limit", "1")).stdout);
    expect(listed[0]).toMatchObject({ status: "CANCELLED" });
  });

  it("exits 125 for an image that is not allowed, and names the remedy", async () => {
    const { code, stderr, stdout } = await bench.holdfast("run", "--image", "evil/image:1", "--", "true");

    expect({ code, stdout: stdout.toString() }).toEqual({ code: 125, stdout: "" });
    expect(stderr).toMatch(/^holdfast: .*allowed images.*holdfast images.*\n$/);
  });

  it("gives one JSON object a line with --json: events 1..n, then the outcome (V1)", async () => {
    const { code, stdout } = await bench.holdfast("run", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3");
    const objects = lines(stdout);
    const stored = objects.filter((object) => "sequence" in object);

    expect(code).toBe(3);
    expect(stored.map((object) => object["sequence"])).toEqual(stored.map((_, index) => index + 1));
    expect(stored.at(-1)).toMatchObject({ kind: "task_finished", status: "FAILED", exit_code: 3 });
    expect(objects.at(-1)).toMatchObject({ kind: "outcome", outcome: { exit_code: 3, stdout: { text: "out\n" } } });
  });

  it("says how many bytes it could not show where more came than the stream keeps", async () => {
    const program = "import sys\nfor _ in range(40): sys.stdout.write('x' * 1048576)";

    const run = bench.start(["run", "--", "python3", "-c", program]);
    const { code, stdout, stderr } = await run.ended;
    const lost = Number(/(\d+) bytes of stdout are not shown/.exec(stderr)?.[1] ?? 0);

    expect(code).toBe(0);
    expect(stdout.length + lost).toBe(40 * 1_048_576);
  });

  it("goes on when the reader of its output has gone away", async () => {
    const run = bench.start(["run", "--", "sh", "-c", "echo one; sleep 1; echo two; exit 5"]);
    run.child.stdout?.destroy();

    expect((await run.ended).code).toBe(5);
  });
});

describe("holdfast submit, watch, status, outcome, cancel", () => {
  it("take a task from its queue to its end, by its id alone", async () => {
    const submitted = await bench.holdfast("submit", "--", "sh", "-c", "echo hello; exit 4");
    const task = submitted.stdout.toString().trim();
    expect(submitted.stdout.toString()).toMatch(/^task_[0-9a-f]{24}\n$/);

    const watched = await bench.holdfast("watch", task);
    const outcome = await bench.holdfast("outcome", task);
    const status = await bench.holdfast("status", "--json", task);

    expect({ code: watched.code, text: watched.stdout.toString() }).toEqual({ code: 4, text: "hello\n" });
    expect(outcome.code).toBe(0);
    expect(outcome.stdout.toString()).toMatch(/status +FAILED\n/);
    expect(outcome.stdout.toString()).toMatch(/exit_code +4\n/);
    expect(outcome.stdout.toString()).toMatch(/tree_receipt +\d+ ended in \d+ ms, 0 left\n/);
    expect(lines(status.stdout)[0]).toMatchObject({ status: "FAILED", outcome: { exit_code: 4 } });
  });

  it("cancel a running task, twice without harm, and leave no sandbox (T3, Q1)", async () => {
    const task = (await bench.holdfast("submit", "--", "sleep", "300")).stdout.toString().trim();
    await waitFor(
      async () => lines((await bench.holdfast("status", "--json", task)).stdout)[0]?.["status"] === "RUNNING",
      {
        bound_ms: 30_000,
        what: "the task runs",
      },
    );
    expect((await bench.holdfast("sandboxes")).stdout.toString()).toContain(task);

    const first = await bench.holdfast("cancel", task);
    const ended = await bench.holdfast("watch", task);
    const second = await bench.holdfast("cancel", task);

    expect([first.code, ended.code, second.code]).toEqual([0, 130, 0]);
    await waitFor(async () => (await bench.containers()) === 0, { bound_ms: 15_000, what: "its container is gone" });
  });

  it("show the host with its images", async () => {
    const hosts = lines((await bench.holdfast("hosts", "--json")).stdout);

    expect(hosts).toHaveLength(1);
    expect(hosts[0]).toMatchObject({ engine_healthy: true, boots: [{ state: "LIVE" }] });
    expect(JSON.stringify(hosts[0]?.["images"])).toContain("holdfast/python:3.11-1");
  });
});

describe("holdfast drain and undrain", () => {
  const host = async () => lines((await bench.holdfast("hosts", "--json")).stdout)[0] ?? {};
  const submit = async (...words: string[]) =>
    (await bench.holdfast("submit", "--", ...words)).stdout.toString().trim();
  const view = async (task: string) => lines((await bench.holdfast("status", "--json", task)).stdout)[0] ?? {};

  it("take a host out of service and back: what runs goes on, what waits says so and goes on (T2)", async () => {
    const id = String((await host())["host_id"]);
    const running = await submit("sleep", "300");
    const runs = async () => (await view(running))["status"] === "RUNNING";
    await waitFor(runs, { bound_ms: 30_000, what: "the task runs" });

    const drain = await bench.holdfast("drain", id);
    const waiting = await submit("echo", "later");
    expect([drain.code, drain.stderr]).toEqual([0, ""]);
    expect(drain.stdout.toString()).toMatch(/ is drained and takes no tasks; 1 sandbox is left there/);
    expect(await host()).toMatchObject({ draining: true, boots: [{ state: "LIVE" }] });
    expect((await bench.holdfast("hosts")).stdout.toString()).toContain(" drained ");
    expect(await view(running)).toMatchObject({ status: "RUNNING", attempt: 1 });
    expect(await view(waiting)).toMatchObject({ status: "PENDING", attempt: 0, waiting: { reason: "draining" } });
    await bench.holdfast("cancel", running);
    expect((await bench.holdfast("watch", running)).code).toBe(130);

    expect((await bench.holdfast("undrain", id)).stdout.toString()).toBe(`${id} takes tasks\n`);
    expect((await bench.holdfast("watch", waiting)).stdout.toString()).toBe("later\n");
    expect(await host()).toMatchObject({ draining: false });
  });
});

describe("a task that waits", () => {
  const submit = async (...words: string[]) => (await bench.holdfast("submit", ...words)).stdout.toString().trim();
  const status = async (task: string) => (await bench.holdfast("status", task)).stdout.toString();
  const until = (task: string, text: RegExp) =>
    waitFor(async () => text.test(await status(task)), { bound_ms: 30_000, what: `status of ${task} says ${text}` });

  it("waits while its workspace pauses, is refused beyond the queued limit, and runs once that is lifted (C1)", async () => {
    const set = (...limits: string[]) => bench.holdfast("limits", "set", "--workspace", "quiet", ...limits);
    expect((await set("--slots", "0", "--queued", "1")).stdout.toString()).toMatch(/workspace +quiet +0\/0 .* 0\/1 /);
    const quiet = ["--workspace", "quiet", "--", "echo", "later"];
    const waiting = await submit(...quiet);
    const { code, stderr } = await bench.holdfast("submit", ...quiet);
    expect([code, stderr]).toEqual([125, expect.stringMatching(/its limit is 1 waiting tasks/)]);
    await set("--slots", "none", "--queued", "none");
    expect((await bench.holdfast("watch", "--workspace", "quiet", waiting)).stdout.toString()).toBe("later\n");
  });

  it("says why and where, goes by age, starts when its host frees up, and tells who ended it (C1, T3)", async () => {
    const [host] = lines((await bench.holdfast("hosts", "--json")).stdout);
    const { memory_mb } = { ...(host?.["limits"] as object) } as { memory_mb: number };
    const holder = await submit("--", "sleep", "300");
    await until(holder, /RUNNING: its command runs/);
    const whole = await submit("--memory", String(memory_mb - 384), "--", "echo", "whole");
    const younger = await submit("--", "echo", "younger");
    await until(younger, /\nplace +2 of 2 in the waiting list of the fleet\n(.*\n)*host_\w+ +kept_for_older /);

    const said = await status(whole);
    expect(said).toMatch(
      /\nwaiting +No host has the resources free\. It is the next of 2 that wait\. \(host_full, for /,
    );
    expect(said).toContain(
      ` full    has too little free: 896 of ${memory_mb} MiB of memory taken, ${memory_mb} wanted\n`,
    );
    const waiting = lines((await bench.holdfast("ls", "--status", "waiting", "--since", "5m", "--json")).stdout);
    expect(waiting.map((task) => task["task_id"])).toEqual([younger, whole]);
    const late = await submit("--queue-timeout", "1", "--", "echo", "late");
    expect((await bench.holdfast("watch", late)).code).toBe(125);
    expect(await status(late)).toMatch(/\nended_by +its queue time-out, before it ran\n/);

    expect((await bench.holdfast("cancel", younger)).code).toBe(0);
    expect(await status(younger)).toMatch(/CANCELLED: nothing of it is left running\n(.*\n)*ended_by +a cancel\n/);
    await bench.holdfast("cancel", holder);
    expect((await bench.holdfast("watch", whole)).stdout.toString()).toBe("whole\n");
    expect(await status(whole)).toMatch(/\nended_by +its own command\nran_on +host_/);
  }, 120_000);
});

describe("every command", () => {
  it.each([
    [["run"], "missing required argument"],
    [["run", "--bogus", "--", "true"], "--bogus"],
    [["run", "--timeout", "soon", "--", "true"], "--timeout soon"],
    [["run", "--env", "A", "--", "true"], "NAME=VALUE"],
    [["run", "--timeout", "0", "--", "true"], "timeout_seconds"],
    [["run", "--file", "/nowhere:x", "--", "true"], "/nowhere"],
    [["run", "--workspace", "a b", "--", "true"], "workspace_id"],
    [["nonsense"], "nonsense"],
    [["status", "no such id"], "no such id"],
    [["outcome", "task_unknown"], "No such task"],
    [["ls", "--limit", "0"], "--limit 0"],
    [["drain", "host_unknown"], "`holdfast hosts` lists them"],
    [["undrain", "no such id"], "host_id"],
  ])("answers bad usage with one line and exit code 2: %j", async (words, text) => {
    const { code, stdout, stderr } = await bench.holdfast(...words);

    expect({ code, stdout: stdout.toString() }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
    expect(stderr).not.toMatch(/\bat .+:\d+:\d+/);
  });

  it("explains itself", async () => {
    const help = await bench.holdfast("--help");
    const names = [...help.stdout.toString().matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1] ?? "");

    expect(names).toEqual(expect.arrayContaining(["up", "down", "run", "submit", "watch", "outcome", "status", "ls"]));
    const commands = names.filter((found) => found !== "holdfast" && found !== "help");
    const shown = await Promise.all(commands.map((name) => bench.holdfast(name, "--help")));
    for (const [index, { code, stdout }] of shown.entries()) {
      expect({ name: commands[index], code }).toEqual({ name: commands[index], code: 0 });
      expect(stdout.toString()).toMatch(/^Usage: holdfast [a-z]+ /);
    }
  });

  it("masks secrets in the settings it shows", async () => {
    const secrets = { REDIS_URL: "redis://:hunter2@127.0.0.1:1", HOLDFAST_OPERATOR_PASSWORD: "hunter2-hunter2" };
    const { stdout } = await bench.start(["config", "--json"], undefined, secrets).ended;

    expect(stdout.toString()).not.toContain("hunter2");
    expect(JSON.parse(stdout.toString())).toMatchObject({
      REDIS_URL: "redis://:***@127.0.0.1:1",
      HOLDFAST_OPERATOR_PASSWORD: "***",
      HOLDFAST_DATA: bench.data,
    });
  });
});
