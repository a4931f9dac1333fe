/** Attack catalogue, part B: exhaustion stays inside the sandbox that tries it. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileProgram } from "../support/engine-fixture.js";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet({ slots: 4 });
});
afterAll(() => fleet.stopAndExpectNothingLeft());

const small = { cpu: 0.5, memory_mb: 64, disk_mb: 16 };

describe("AT-B2: memory in every form", () => {
  it.each([
    ["/workspace", "import os; f = open('/workspace/x', 'wb')", "f.write(b'x' * 1048576)", [28]],
    ["/dev/shm", "import os; f = open('/dev/shm/x', 'wb')", "f.write(b'x' * 1048576)", [28]],
    ["/tmp", "import os; f = open('/tmp/x', 'wb')", "f.write(b'x' * 1048576)", [28]],
  ])("%s stops at its size with an error to the code alone", async (_, open, step) => {
    const code = `${open}\nn = 0\ntry:\n  while n < 4096:\n    ${step}; n += 1\nexcept OSError as e:\n  print(e.errno, n <= 64)`;

    const outcome = await fleet.run({ command: ["python3", "-c", code], resources: small });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { text: "28 True\n" } });
  });

  it("uses no swap of the host", async () => {
    const swap = () => Number(readFileSync("/proc/meminfo", "utf8").match(/SwapFree:\s+(\d+)/)?.[1]);
    const before = swap();

    const outcome = await fleet.run({
      command: ["python3", "-c", "x = bytearray(900 * 1024 * 1024)"],
      resources: small,
    });

    expect(outcome.error?.code).toBe("OUT_OF_MEMORY");
    expect(swap()).toBe(before);
  });
});

describe("AT-B2: memory that is nobody's", () => {
  it("may cost process 1 its life, and is the code's fault all the same, told once (O1)", async () => {
    const content = readFileSync(compileProgram("memory-of-nobody")).toString("base64");

    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["./attack"],
      files: [{ path: "attack", content, encoding: "base64", mode: "0755" }],
      resources: small,
      timeout_seconds: 30,
    });

    expect(outcome).toMatchObject({ status: "FAILED", attempt: 1, error: { code: "OUT_OF_MEMORY", fault: "user" } });
  });
});

describe("AT-B1: processes and threads", () => {
  it("100,000 short processes end within the limits and leave nobody", async () => {
    const outcome = await fleet.run({
      image: SHELL_IMAGE,
      command: ["sh", "-c", "while :; do /bin/true; done"],
      resources: small,
      timeout_seconds: 4,
    });

    expect(outcome).toMatchObject({ status: "TIMEOUT", tree_receipt: { survivors: 0 } });
  });
});

describe("AT-B5: a spinning processor", () => {
  it("costs no beat of the worker (L3)", async () => {
    const spin = Array.from({ length: 3 }, () =>
      fleet.run({
        image: SHELL_IMAGE,
        command: ["sh", "-c", "while :; do :; done"],
        resources: small,
        timeout_seconds: 4,
      }),
    );

    for (const outcome of await Promise.all(spin)) expect(outcome.status).toBe("TIMEOUT");
    expect(fleet.missedBeats()).toBe(0);
  });
});

describe("AT-B6: output that is no text", () => {
  it("one line without an end, NULs and bad UTF-8 are only bytes", async () => {
    const outcome = await fleet.run({
      command: ["python3", "-c", "import sys; sys.stdout.buffer.write(b'\\0\\xff' * 2000000)"],
    });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { total_bytes: 4_000_000, encoding: "base64" } });
  });
});

describe("AT-B10: staying behind", () => {
  it("a command that stops itself is ended at its time limit", async () => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["sh", "-c", "kill -STOP $$"], timeout_seconds: 1 });

    expect(outcome).toMatchObject({ status: "TIMEOUT", tree_receipt: { survivors: 0 } });
  });

  it("a flood of zombies is reaped", async () => {
    const code =
      "import os\nfor _ in range(3000):\n  p = os.fork()\n  if p == 0:\n    if os.fork() == 0: os._exit(0)\n    os._exit(0)\n  os.waitpid(p, 0)\nprint('ok')";

    const outcome = await fleet.run({ command: ["python3", "-c", code], resources: { pids_limit: 32 } });

    expect(outcome).toMatchObject({ status: "SUCCEEDED", stdout: { text: "ok\n" } });
  });
});
