/** Case bank, area 1: what a caller is told about how a command ended. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stopAndExpectNothingLeft());

describe("O-01: a missing or unrunnable command", () => {
  const files = [{ path: "plain.txt", content: "#!/bin/sh\necho hi\n", mode: "0644" }];

  it.each([
    ["a missing program", ["no-such-tool-q", "--x"], 127, "COMMAND_NOT_FOUND", "no-such-tool-q"],
    ["a missing program in a shell line", ["sh", "-c", "no-such-tool-q --x"], 127, "NONZERO_EXIT", "no-such-tool-q"],
    ["a file without the exec bit", ["./plain.txt"], 126, "COMMAND_NOT_EXECUTABLE", "plain.txt"],
    ["a directory", ["/etc"], 126, "COMMAND_NOT_EXECUTABLE", "/etc"],
  ])(
    "%s is the caller's failure with its usual exit code, at once, in one attempt (O1)",
    async (_, command, exit, code, named) => {
      const begun = performance.now();

      const outcome = await fleet.run({ command, files });

      expect(outcome).toMatchObject({ status: "FAILED", exit_code: exit, attempt: 1, error: { fault: "user", code } });
      expect(outcome.stderr.text).toContain(named);
      expect(performance.now() - begun).toBeLessThan(3000);
    },
  );

  it("gives the same answer in an image without a shell", async () => {
    const outcome = await fleet.run({ image: "holdfast/empty:1", command: ["sh"] });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 127, error: { code: "COMMAND_NOT_FOUND" } });
  });
});

describe("O-02: death by signal and out of memory", () => {
  it.each([
    ["KILL", "kill -9 $$", 137, "SIGKILL"],
    ["TERM", "kill -TERM $$", 143, "SIGTERM"],
  ])("SIG%s is told as a signal and never as success or as memory (O1)", async (_, line, exit, signal) => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

    expect(outcome).toMatchObject({
      status: "FAILED",
      exit_code: exit,
      signal,
      error: { code: "KILLED_BY_SIGNAL", fault: "user" },
    });
  });

  it("an abort of Python is 134 with SIGABRT (O1)", async () => {
    const outcome = await fleet.run({ command: ["python3", "-c", "import os; os.abort()"] });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 134, signal: "SIGABRT" });
  });

  it("memory that grows for ever ends as OUT_OF_MEMORY with the limit named (O1)", async () => {
    const code = "x = []\nwhile True: x.append(bytearray(8 * 1024 * 1024))";

    const outcome = await fleet.run({
      command: ["python3", "-c", code],
      resources: { memory_mb: 128, disk_mb: 16 },
      timeout_seconds: 30,
    });

    expect(outcome).toMatchObject({ status: "FAILED", error: { code: "OUT_OF_MEMORY", fault: "user" } });
    expect(outcome.error?.message).toContain("272");
    expect(outcome.limits?.memory_mb).toBe(272);
  });

  it("a plain exit with 137 is not taken for memory or a signal (O1)", async () => {
    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["sh", "-c", "exit 137"] });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 137, signal: null, error: { code: "NONZERO_EXIT" } });
  });
});

describe("the outcome of a success", () => {
  it("carries limits, timing, usage, image digest and an empty error, and its tree receipt (T1)", async () => {
    const outcome = await fleet.run({ command: ["python3", "-c", "print(6 * 7)"] });

    expect(outcome).toMatchObject({
      status: "SUCCEEDED",
      ran: true,
      exit_code: 0,
      signal: null,
      error: null,
      attempt: 1,
    });
    expect(outcome.stdout).toMatchObject({ text: "42\n", total_bytes: 3, truncated: false });
    expect(outcome.tree_receipt).toMatchObject({ survivors: 0 });
    expect(outcome.image_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(outcome.isolation).toBe("runc");
    expect(outcome.timing.run_ms).toBeGreaterThan(0);
  });
});
