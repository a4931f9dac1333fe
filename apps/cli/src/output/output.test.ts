import { PassThrough } from "node:stream";
import type { StreamItem } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { createConsole } from "./console.js";
import { createOutputWriter } from "./output-writer.js";
import { facts, span, table } from "./table.js";

function log(stream: "stdout" | "stderr", bytes: Buffer, encoding: "utf8" | "base64"): StreamItem {
  const base = { sequence: 1, at_ms: 0, attempt: 1, kind: "task_log" as const, dropped_bytes: 0 };
  return { ...base, stream, encoding, data: bytes.toString(encoding), bytes: bytes.length };
}

function streams() {
  const stdout = new PassThrough({ highWaterMark: 1 << 20 });
  const stderr = new PassThrough({ highWaterMark: 1 << 20 });
  const console = createConsole({ stdout, stderr });
  return {
    stdout,
    stderr,
    console,
    read: (stream: PassThrough) => (stream.read() as Buffer | null) ?? Buffer.alloc(0),
  };
}

describe("live output", () => {
  it("is written byte for byte, each stream to its own", async () => {
    const { stdout, stderr, console, read } = streams();
    const writer = createOutputWriter(console);
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

    await writer.accept(log("stdout", all, "base64"));
    await writer.accept(log("stdout", Buffer.from("café ☕\n"), "utf8"));
    await writer.accept(log("stderr", Buffer.from("E"), "utf8"));

    expect(read(stdout)).toEqual(Buffer.concat([all, Buffer.from("café ☕\n")]));
    expect(read(stderr).toString()).toBe("E");
    expect(writer.losses({ stdout: 256 + 10, stderr: 1 })).toEqual([]);
  });

  it("tells how many bytes of which stream never came", async () => {
    const { console } = streams();
    const writer = createOutputWriter(console);

    await writer.accept(log("stdout", Buffer.from("abc"), "utf8"));
    await writer.accept({ kind: "gap", from: 2, to: 9 });

    const [loss, ...more] = writer.losses({ stdout: 1_003, stderr: 0 });
    expect(loss).toMatch(/^1000 bytes of stdout are not shown/);
    expect(more).toEqual([]);
  });

  it("waits while its reader is slow, and goes on once it reads or has gone away", async () => {
    const stdout = new PassThrough({ highWaterMark: 8 });
    const console = createConsole({ stdout, stderr: new PassThrough() });
    const settled: string[] = [];

    const first = console.write("stdout", Buffer.alloc(64)).then(() => settled.push("first"));
    await Promise.resolve();
    expect(settled).toEqual([]);
    stdout.resume();
    await first;
    stdout.pause();
    const second = console.write("stdout", Buffer.alloc(64));
    stdout.destroy(new Error("EPIPE"));
    await second;
    await console.write("stdout", Buffer.alloc(64));

    expect(settled).toEqual(["first"]);
  });
});

describe("lines of ours", () => {
  it("are marked, single, and free of control characters", () => {
    const { stderr, console, read } = streams();

    console.note("no\u001b[31m such\nthing\r");

    expect(read(stderr).toString()).toBe("holdfast: no [31m such thing\n");
  });

  it("stand in columns", () => {
    expect(
      table(
        ["A", "LONG"],
        [
          ["1", "2"],
          ["333\u001b", ""],
        ],
      ),
    ).toEqual(["A    LONG", "1    2", "333"]);
    expect(
      facts([
        ["a", "1"],
        ["long", null],
        ["bb", "2"],
      ]),
    ).toEqual(["a   1", "bb  2"]);
    expect([span(0.4), span(850), span(12_000), span(300_000), span(10_800_000)]).toEqual([
      "0 ms",
      "850 ms",
      "12 s",
      "5 min",
      "3 h",
    ]);
  });
});
