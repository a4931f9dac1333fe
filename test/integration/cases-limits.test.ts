/** Case bank, area 4: limits and process trees. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stopAndExpectNothingLeft());

const small = { cpu: 0.5, memory_mb: 64, disk_mb: 16 };

describe("O-08: a time limit ends the whole tree", () => {
  it("in limit plus 5 s, with a tree receipt and never exit 0 (O1)", async () => {
    const begun = performance.now();

    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "sleep 301 & sleep 302 & wait"],
      timeout_seconds: 1,
    });

    expect(outcome).toMatchObject({ status: "TIMEOUT", error: { code: "TIME_LIMIT", fault: "user" } });
    expect(outcome.exit_code).not.toBe(0);
    expect(outcome.tree_receipt).toMatchObject({ survivors: 0 });
    expect(outcome.usage.killed_processes).toBeGreaterThanOrEqual(2);
    expect(performance.now() - begun).toBeLessThan(6000);
  });

  it("also where the code ignores SIGTERM and double-forks (AT-B10)", async () => {
    const code = [
      "import os, signal, time",
      "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
      "if os.fork() == 0:",
      "    os.setsid()",
      "    if os.fork() == 0:",
      "        time.sleep(600)",
      "    os._exit(0)",
      "time.sleep(600)",
    ].join("\n");

    const outcome = await fleet.run({ command: ["python3", "-c", code], timeout_seconds: 1 });

    expect(outcome).toMatchObject({ status: "TIMEOUT", tree_receipt: { survivors: 0 } });
  });
});

describe("O-09: a leftover child holds the pipe open", () => {
  it("the task ends with its main process, and the late text is nowhere", async () => {
    const begun = performance.now();

    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "(sleep 2; echo LATE; sleep 30) & echo now"],
    });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", exit_code: 0, stdout: { text: "now\n" } });
    expect(outcome.tree_receipt).toMatchObject({ survivors: 0 });
    expect(outcome.usage.killed_processes).toBeGreaterThanOrEqual(1);
    expect(performance.now() - begun).toBeLessThan(4000);
  });
});

describe("O-10: a fork bomb beside a good neighbour", () => {
  it("ends within its limit plus 10 s while ten neighbours succeed (AT-B1)", async () => {
    const begun = performance.now();
    const bomb = fleet.run({
      command: ["bash", "-c", ":(){ :|:& };:; sleep 60"],
      resources: { ...small, pids_limit: 64 },
      timeout_seconds: 5,
      workspace_id: "hostile",
    });

    for (let n = 0; n < 10; n += 1) {
      const asked = performance.now();
      const good = await fleet.run({ image: SHELL_IMAGE, command: ["echo", "ok"], resources: small });
      expect(good).toMatchObject({ status: "SUCCEEDED", stdout: { text: "ok\n" } });
      expect(performance.now() - asked).toBeLessThan(10_000);
    }
    const outcome = await bomb;

    expect(["FAILED", "TIMEOUT"]).toContain(outcome.status);
    expect(outcome.tree_receipt?.survivors).toBe(0);
    expect(performance.now() - begun).toBeLessThan(60_000);
    expect(fleet.missedBeats()).toBe(0);
  }, 120_000);
});

describe("limits inside a sandbox", () => {
  it("a full /workspace is DISK_FULL, by the mount and not by text (AT-B3)", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "dd if=/dev/zero of=big bs=1M count=64"],
      resources: small,
    });

    expect(outcome).toMatchObject({ status: "FAILED", error: { code: "DISK_FULL", fault: "user" } });
  });

  it("a full disk that the code coped with is a success (O1)", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; exit 0"],
      resources: small,
    });

    expect(outcome.status).toBe("SUCCEEDED");
  });

  it("the text 'Killed' or 'out of memory' proves nothing (O1)", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "echo 'Out of memory: Killed process' >&2; exit 1"],
    });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 1, error: { code: "NONZERO_EXIT" } });
  });

  it("a million small files meet the inode limit and still end in time (AT-B3)", async () => {
    const code =
      "import os\nn = 0\ntry:\n  while True:\n    open(f'f{n}', 'w').close(); n += 1\nexcept OSError as e:\n  print(n, e.errno)";

    const outcome = await fleet.run({ command: ["python3", "-c", code], timeout_seconds: 60 });

    expect(outcome.status).toBe("SUCCEEDED");
    expect(outcome.stdout.text).toMatch(/ 28\n$/);
  });

  it("too many descriptors and threads hit caps of the sandbox alone (AT-B4)", async () => {
    const code = [
      "import os, threading, time",
      "fds = []",
      "try:",
      "  while True: fds.append(os.open('/dev/null', 0))",
      "except OSError as e: print('fd', e.errno)",
      "for fd in fds: os.close(fd)",
      "started = 0",
      "try:",
      "  for _ in range(5000): threading.Thread(target=time.sleep, args=(5,), daemon=True).start(); started += 1",
      "except RuntimeError: print('threads', started < 200)",
      "os._exit(0)",
    ].join("\n");

    const outcome = await fleet.run({ command: ["python3", "-c", code], resources: { pids_limit: 64 } });

    expect(outcome.stdout.text).toBe("fd 24\nthreads True\n");
  });
});
