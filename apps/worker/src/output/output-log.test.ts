import { fail } from "node:assert";
import type { AppendBody } from "@holdfast/contract";
import type { AppendReply } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { createOutputLog } from "./output-log.js";

/** An event store in memory with the ledger's rule: an append must name the last sequence, a re-send is known. */
function memoryStore() {
  const bodies: AppendBody[] = [];
  const calls: { expected: number; count: number }[] = [];
  return {
    bodies,
    calls,
    async append(expected: number, added: readonly AppendBody[]): Promise<AppendReply> {
      calls.push({ expected, count: added.length });
      if (expected !== bodies.length) return { kind: "fenced" };
      bodies.push(...added);
      return { kind: "appended", sequence: bodies.length };
    },
    bytesOf: (stream: string): Buffer =>
      Buffer.concat(
        bodies.map((body) =>
          body.kind === "task_log" && body.stream === stream ? Buffer.from(body.data, body.encoding) : Buffer.alloc(0),
        ),
      ),
  };
}

const always = { mayAct: () => true, whenMayAct: async () => true };

describe("output log", () => {
  test("bytes written one at a time to both streams come out whole and apart, in few events (O-03)", async () => {
    const store = memoryStore();
    const log = createOutputLog({ sequence: 0, append: store.append, ...always });
    const text = Buffer.from("café ☕ 日本語");

    for (const byte of text) {
      await log.write("stdout", Buffer.from([byte]));
      await log.write("stderr", Buffer.from([byte]));
    }
    await log.close();

    expect(store.bytesOf("stdout").toString()).toBe("café ☕ 日本語");
    expect(store.bytesOf("stderr").toString()).toBe("café ☕ 日本語");
    expect(store.bodies.every((body) => body.kind === "task_log" && body.encoding === "utf8")).toBe(true);
  });

  test("a burst becomes few large events, and each append names the last sequence (V1)", async () => {
    const store = memoryStore();
    const log = createOutputLog({ sequence: 0, append: store.append, ...always });
    const chunk = Buffer.alloc(1_024, "x");

    for (let n = 0; n < 2_048; n += 1) await log.write("stdout", chunk);
    await log.close();

    expect(store.bytesOf("stdout")).toHaveLength(2_048 * 1_024);
    expect(store.bodies.length).toBeLessThan(140);
    expect(store.calls.every(({ expected }, index) => index === 0 || expected > 0)).toBe(true);
  });

  test("an append whose reply is lost is sent again as it was and stored once", async () => {
    const store = memoryStore();
    const sent: string[] = [];
    let lost = false;
    const append = async (expected: number, added: readonly AppendBody[]): Promise<AppendReply> => {
      sent.push(JSON.stringify([expected, added]));
      if (!lost) {
        lost = true;
        throw new Error("connection closed");
      }
      return store.append(expected, added);
    };
    const log = createOutputLog({ sequence: 0, append, ...always });

    log.write("stdout", Buffer.from("once"));
    await log.close();

    expect(sent).toHaveLength(2);
    expect(sent[0]).toBe(sent[1]);
    expect(store.bytesOf("stdout").toString()).toBe("once");
  });

  test("a refused grant stops the log, tells it, and nothing more is sent (L2)", async () => {
    let calls = 0;
    const append = async (): Promise<AppendReply> => {
      calls += 1;
      return { kind: "fenced" };
    };
    const log = createOutputLog({ sequence: 0, append, ...always });

    log.write("stdout", Buffer.from("a"));
    await log.close();
    await log.fenced;
    log.write("stdout", Buffer.from("b"));
    await log.close();

    expect(calls).toBe(1);
  });

  test("a full buffer holds the writer back while the lease stands, and memory stays bounded", async () => {
    const store = memoryStore();
    let open: () => void = () => fail("nothing was sent");
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const append = async (expected: number, added: readonly AppendBody[]): Promise<AppendReply> => {
      await gate;
      return store.append(expected, added);
    };
    const log = createOutputLog({ sequence: 0, append, ...always, pending_bytes_max: 64 * 1_024 });
    const chunk = Buffer.alloc(32 * 1_024, "x");
    const held: string[] = [];

    for (let n = 0; n < 40; n += 1) if (log.write("stdout", chunk) !== undefined) held.push("held");
    expect(held.length).toBeGreaterThan(25);
    open();
    await log.close();
  });

  test("past the lease what does not fit is dropped, and the count is stored before what comes after it", async () => {
    const store = memoryStore();
    let may = false;
    let dropped = 0;
    let let_go: () => void = () => {};
    const back = new Promise<void>((resolve) => {
      let_go = resolve;
    });
    const log = createOutputLog({
      sequence: 0,
      append: store.append,
      mayAct: () => may,
      whenMayAct: async () => {
        await back;
        return true;
      },
      pending_bytes_max: 1_024,
      onDropped: (bytes) => {
        dropped += bytes;
      },
    });

    for (let n = 0; n < 10; n += 1) await log.write("stdout", Buffer.alloc(512, "x"));
    may = true;
    let_go();
    await log.close();

    const logs = store.bodies.filter((body) => body.kind === "task_log");
    const counted = logs.reduce((sum, body) => sum + body.dropped_bytes, 0);
    expect(dropped).toBeGreaterThan(0);
    expect(counted).toBe(dropped);
    expect(store.bytesOf("stdout").length + counted).toBe(5_120);
  });

  test("where it may never write again, close ends and nothing is sent (L3)", async () => {
    const store = memoryStore();
    const log = createOutputLog({
      sequence: 0,
      append: store.append,
      mayAct: () => false,
      whenMayAct: async () => false,
    });

    log.write("stdout", Buffer.from("late"));
    await log.close();

    expect(store.calls).toEqual([]);
  });

  test("a ledger that refuses output for long costs output, counted, and never the task's end", async () => {
    const store = memoryStore();
    let dropped = 0;
    let full = true;
    const append = async (expected: number, added: readonly AppendBody[]): Promise<AppendReply> => {
      if (full) throw new Error("OOM command not allowed");
      return store.append(expected, added);
    };
    const onDropped = (bytes: number): void => {
      dropped += bytes;
      full = false;
    };
    const bounds = { give_up_ms: 0, end_give_up_ms: 0, batch_ms: 0 };
    const log = createOutputLog({ sequence: 0, append, ...always, ...bounds, onDropped });

    log.write("stdout", Buffer.from("lost"));
    const untold = await log.close();

    expect(untold).toEqual([]);
    expect(dropped).toBe(4);
    expect(store.bodies).toEqual([
      { kind: "task_log", stream: "stdout", encoding: "utf8", data: "", bytes: 0, dropped_bytes: 4 },
    ]);
  });

  test("where it still refuses after the command's end, all that is left has one bound and close tells the drop", async () => {
    const MANY_BATCHES = 4 * 256 * 1_024;
    let calls = 0;
    let dropped = 0;
    const append = async (): Promise<AppendReply> => {
      calls += 1;
      throw new Error("OOM command not allowed");
    };
    const onDropped = (bytes: number): void => {
      dropped += bytes;
    };
    const log = createOutputLog({ sequence: 0, append, ...always, end_give_up_ms: 0, onDropped });

    log.write("stdout", Buffer.alloc(MANY_BATCHES, "x"));
    const untold = await log.close();

    expect(untold).toEqual([
      { kind: "task_log", stream: "stdout", encoding: "utf8", data: "", bytes: 0, dropped_bytes: MANY_BATCHES },
    ]);
    expect(dropped).toBe(MANY_BATCHES);
    expect(calls).toBeLessThan(10);
  });

  test("an unfinished character at the end is not lost", async () => {
    const store = memoryStore();
    const log = createOutputLog({ sequence: 0, append: store.append, ...always });

    log.write("stdout", Buffer.from([0x68, 0xe6, 0x97]));
    await log.close();

    expect(store.bytesOf("stdout")).toEqual(Buffer.from([0x68, 0xe6, 0x97]));
  });
});
