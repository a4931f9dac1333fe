/** Case bank, area 2: bytes come as they were written out of a sandbox. HOLDFAST_LONG=1 makes the 200 runs of O-04. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

const RUNS = process.env["HOLDFAST_LONG"] === "1" ? 200 : 60;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet({ slots: 8 });
});
afterAll(() => fleet.stopAndExpectNothingLeft());

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("O-03: characters split across chunks", () => {
  const text = "café ☕ 日本語";

  it.each(["stdout", "stderr"] as const)(
    "one byte at a time on %s is whole in the live stream and the outcome (V1)",
    async (stream) => {
      const code = [
        "import sys, time",
        `for b in ${JSON.stringify(text)}.encode():`,
        `    sys.${stream}.buffer.write(bytes([b])); sys.${stream}.buffer.flush(); time.sleep(0.02)`,
      ].join("\n");

      const { outcome, live } = await fleet.runAndWatch({ command: ["python3", "-c", code] });

      expect(live[stream].toString("utf8")).toBe(text);
      expect(outcome[stream].text).toBe(text);
      expect(outcome[stream].encoding).toBe("utf8");
    },
  );

  it("200,000 wide characters without a newline arrive whole (V1)", async () => {
    const { outcome, live } = await fleet.runAndWatch({
      command: ["python3", "-c", "import sys; sys.stdout.write('日' * 200000)"],
    });

    expect(live.stdout.toString("utf8")).toBe("日".repeat(200_000));
    expect(outcome.stdout).toMatchObject({ text: "日".repeat(200_000), truncated: false, total_bytes: 600_000 });
  });
});

describe("O-04: a fast exit without a newline at the end", () => {
  it("loses no tail and no exit code in many runs at 8 in parallel (O1)", async () => {
    const wrong: unknown[] = [];
    const numbers = Array.from({ length: RUNS }, (_, n) => n);
    const lanes = Array.from({ length: 8 }, async () => {
      for (let n = numbers.pop(); n !== undefined; n = numbers.pop()) {
        const outcome = await fleet.run({
          image: SHELL_IMAGE,
          command: ["sh", "-c", `printf tail-${n}; exit 7`],
          resources: { cpu: 0.25, memory_mb: 64, disk_mb: 16 },
        });
        if (outcome.stdout.text !== `tail-${n}` || outcome.exit_code !== 7) wrong.push(outcome);
      }
    });

    await Promise.all(lanes);

    expect(wrong).toEqual([]);
  }, 240_000);
});

describe("O-05: bytes are bytes and there is no terminal", () => {
  it("all byte values come back unchanged, marked as base64 because they are not text", async () => {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, n) => n % 256));

    const { outcome, live } = await fleet.runAndWatch({
      command: ["python3", "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4)"],
    });

    expect(live.stdout.equals(bytes)).toBe(true);
    expect(outcome.stdout).toMatchObject({ encoding: "base64", total_bytes: 1024, sha256: sha256(bytes) });
    expect(Buffer.from(outcome.stdout.text ?? "", "base64").equals(bytes)).toBe(true);
  });

  it("output that looks like the engine's own framing is output, and the streams stay apart (AT-D2)", async () => {
    const code = "import sys; sys.stdout.buffer.write(b'\\x01\\0\\0\\0\\0\\0\\0\\x05hello'); sys.stderr.write('E')";

    const { outcome, live } = await fleet.runAndWatch({ command: ["python3", "-c", code] });

    const expected = Buffer.from("\u0001\0\0\0\0\0\0\u0005hello", "latin1");
    expect(live.stdout.equals(expected)).toBe(true);
    expect(outcome.stdout.total_bytes).toBe(13);
    expect(outcome.stderr.text).toBe("E");
  });

  it("there is no terminal and no carriage return", async () => {
    const line = "[ -t 1 ] && echo tty || echo pipe; printf 'a\\nb\\n'";

    const outcome = await fleet.run({ image: SHELL_IMAGE, command: ["sh", "-c", line] });

    expect(outcome.stdout.text).toBe("pipe\na\nb\n");
  });
});

describe("output beyond its bounds", () => {
  it("is kept as head and tail with the true size and digest of everything (AT-B6)", async () => {
    const code = "import sys\nfor n in range(400000): sys.stdout.write(f'{n:07d}\\n')";

    const outcome = await fleet.run({ command: ["python3", "-c", code] });

    const whole = Buffer.from(Array.from({ length: 400_000 }, (_, n) => `${String(n).padStart(7, "0")}\n`).join(""));
    expect(outcome.stdout).toMatchObject({ truncated: true, total_bytes: whole.length, sha256: sha256(whole) });
    expect(outcome.stdout.text?.startsWith("0000000\n")).toBe(true);
    expect(outcome.stdout.text?.endsWith("0399999\n")).toBe(true);
    expect(outcome.stdout.text).toMatch(/\[truncated \d+ bytes\]/);
  });

  it("text that imitates events stays one line of output (AT-D6)", async () => {
    const forged = 'event: task_finished\r\ndata: {"kind":"task_finished"}\n\n\u001b[31m';
    const { outcome, events } = await fleet.runAndWatch({
      command: ["python3", "-c", `print(${JSON.stringify(forged)}, end='')`],
    });

    expect(outcome.stdout.text).toBe(forged);
    expect(events.filter((event) => event.kind === "task_finished")).toHaveLength(1);
  });
});
