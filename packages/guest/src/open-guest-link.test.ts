/** The worker's side against an agent that is scripted frame by frame, also one that lies. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import type { Exited } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { AGENT_FRAME, type AgentFrameName, PREAMBLE, WORKER_FRAME } from "./frames.js";
import { type GuestExec, type GuestSinks, LinkLost } from "./guest-link.js";
import { GuestRefused } from "./link-questions.js";
import { openGuestLink } from "./open-guest-link.js";

const VECTORS = join(import.meta.dirname, "..", "vectors", "to-worker.json");
const HELLO = JSON.parse(readFileSync(VECTORS, "utf8"))[0].frames[0].body;
const NAMES = new Map<number, string>(Object.entries(WORKER_FRAME).map(([name, code]) => [code, name]));

interface Sent {
  readonly name: string;
  readonly id: number;
  readonly payload: Buffer;
}

/** The far end of the stream: it keeps what the worker wrote and says what the test tells it to. */
class FarEnd extends Duplex {
  readonly #written: Buffer[] = [];
  ended = false;
  /** Holds writes back, as a side that does not read. */
  stalled: (() => void)[] | null = null;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#written.push(chunk);
    if (this.stalled) this.stalled.push(done);
    else done();
  }

  override _final(done: () => void): void {
    this.ended = true;
    done();
  }

  say(name: AgentFrameName, id: number, body: Buffer | object = Buffer.alloc(0)): void {
    const payload = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const header = Buffer.alloc(9);
    header.writeUInt32BE(payload.length, 0);
    header.writeUInt8(AGENT_FRAME[name], 4);
    header.writeUInt32BE(id, 5);
    this.push(Buffer.concat([header, payload]));
  }

  get bytesWritten(): number {
    return Buffer.concat(this.#written).length;
  }

  sent(name?: string): Sent[] {
    const all = Buffer.concat(this.#written);
    const found: Sent[] = [];
    for (let at = PREAMBLE.length; at + 9 <= all.length; ) {
      const end = at + 9 + all.readUInt32BE(at);
      const frame = { name: NAMES.get(all.readUInt8(at + 4)) ?? "?", id: all.readUInt32BE(at + 5) };
      found.push({ ...frame, payload: all.subarray(at + 9, end) });
      at = end;
    }
    return name === undefined ? found : found.filter((frame) => frame.name === name);
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

interface World {
  readonly far: FarEnd;
  readonly link: ReturnType<typeof openGuestLink>;
  live_ms: number;
  now_ms: number;
}

function open(output_window_bytes = 4096): World {
  const far = new FarEnd();
  const world = { far, live_ms: 68_000.7, now_ms: 5 } as World;
  const options = { permission: () => world.live_ms, now: () => world.now_ms, output_window_bytes };
  return Object.assign(world, { link: openGuestLink(far, options) });
}

function greeted(output_window_bytes?: number): World {
  const world = open(output_window_bytes);
  world.far.push(PREAMBLE);
  world.far.say("hello", 0, HELLO);
  return world;
}

const COMMAND: GuestExec = {
  argv: ["cat", "-"],
  env: { MODE: "x" },
  working_directory: "/workspace",
  stdin: Buffer.alloc(0),
  timeout_ms: 1000,
  leftovers: "kill",
};

const EXITED: Exited = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 1,
  cpu_ms: 1,
  memory_peak_bytes: null,
  oom_kills: null,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: null,
};

const quiet: GuestSinks = { stdout: () => {}, stderr: () => {}, progress: () => {} };

/** A sink that takes one piece each time the test lets it. */
function gate(): { take(chunk: Buffer): Promise<void>; open(): void; readonly seen: Buffer[] } {
  const seen: Buffer[] = [];
  let release: (() => void) | null = null;
  const take = (chunk: Buffer) => {
    seen.push(chunk);
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  };
  return { take, open: () => release?.(), seen };
}

describe("permission to live", () => {
  it("answers each pulse with the agent's own time and what is left (E4)", async () => {
    const world = greeted();
    world.far.say("pulse", 0, { t0_ms: 1234 });
    await settled();

    expect(world.far.sent("permit").map(({ payload }) => JSON.parse(payload.toString()))).toEqual([
      { t0_ms: 1234, live_ms: 68_000 },
    ]);
  });

  it("grants nothing where nothing is left (E4)", async () => {
    const world = greeted();
    world.live_ms = 0;
    world.far.say("pulse", 0, { t0_ms: 1 });
    await settled();
    expect(world.far.sent("permit")).toEqual([]);
  });

  it("does not pile up answers for a side that asks and does not read", async () => {
    const world = greeted();
    await settled();
    world.far.stalled = [];
    for (let count = 0; count < 10_000; count += 1) world.far.say("pulse", 0, { t0_ms: count });
    await settled();
    expect(world.far.writableLength).toBeLessThan(1000);
  });
});

describe("a command", () => {
  it("travels as texts closed with NUL and what to do with them", async () => {
    const world = greeted();
    world.link.exec(COMMAND, quiet);
    await settled();
    const [strings, exec] = world.far.sent();
    expect(strings?.payload.toString()).toBe("cat\0-\0MODE=x\0");
    expect(JSON.parse(`${exec?.payload}`)).toMatchObject({ argc: 2, env_count: 1, stdin: false, window_bytes: 4096 });
  });

  it("with more arguments than one frame holds travels in several", async () => {
    const world = greeted();
    world.link.exec({ ...COMMAND, argv: ["echo", ..."abcdefgh".split("").map((x) => x.repeat(100_000))] }, quiet);
    await settled();
    const bytes = world.far.sent("strings").map(({ payload }) => payload.length);
    expect(bytes).toEqual([262_144, 262_144, 262_144, 800_000 + 8 + 5 + 7 - 3 * 262_144]);
  });

  it("gives credit back only when a sink has taken the bytes, and keeps each stream in order", async () => {
    const world = greeted();
    const stdout = gate();
    const stderr: string[] = [];
    world.link.exec(COMMAND, { ...quiet, stdout: stdout.take, stderr: (chunk) => void stderr.push(`${chunk}`) });
    world.far.say("stdout", 1, Buffer.alloc(1024, "a"));
    world.far.say("stdout", 1, Buffer.alloc(1024, "b"));
    world.far.say("stderr", 1, Buffer.from("e"));
    await settled();
    expect(world.far.sent("credit")).toEqual([]);
    expect(stderr).toEqual(["e"]);

    stdout.open();
    await settled();
    expect(world.far.sent("credit").map(({ payload }) => `${payload}`)).toEqual(['{"bytes":1025}']);
    expect(stdout.seen.map((chunk) => chunk.toString("latin1", 0, 1))).toEqual(["a", "b"]);
  });

  it("is over only after the sinks have taken all its output", async () => {
    const world = greeted();
    const stdout = gate();
    let over = false;
    const { exited } = world.link.exec(COMMAND, { ...quiet, stdout: stdout.take });
    void exited.then(() => {
      over = true;
    });
    world.far.say("stdout", 1, Buffer.from("tail"));
    world.far.say("exited", 1, { ...EXITED, exit_code: 143, signal: 15 });
    await settled();
    expect(over).toBe(false);

    stdout.open();
    expect(await exited).toMatchObject({ exit_code: 143, signal: "SIGTERM" });
  });

  it("keeps its report though the link ends while a sink is slow", async () => {
    const world = greeted();
    const stdout = gate();
    const { exited } = world.link.exec(COMMAND, { ...quiet, stdout: stdout.take });
    world.far.say("stdout", 1, Buffer.from("tail"));
    world.far.say("exited", 1, EXITED);
    await settled();
    world.far.push(null);
    await world.link.ended;
    stdout.open();
    expect((await exited).exit_code).toBe(0);
  });

  it("that cannot start has a report and never started", async () => {
    const world = greeted();
    const { started, exited } = world.link.exec(COMMAND, quiet);
    world.far.say("exited", 1, { ...EXITED, exit_code: 127, start_failure: { step: "path", errno: "ENOENT" } });
    expect((await exited).start_failure).toEqual({ code: "COMMAND_NOT_FOUND", errno: "ENOENT" });
    await expect(started).rejects.toThrow("did not start");
  });

  it("that the agent refuses is refused, and the link goes on", async () => {
    const world = greeted();
    const { exited } = world.link.exec(COMMAND, quiet);
    world.far.say("failed", 1, { errno: "EPERM", detail: "not assigned" });
    await expect(exited).rejects.toBeInstanceOf(GuestRefused);
    const pinged = world.link.ping(1000);
    world.far.say("pong", 2);
    await pinged;
  });

  it("goes on to its end when a sink fails, and then tells that failure", async () => {
    const world = greeted();
    const broken = () => Promise.reject(new Error("the sink broke"));
    const { exited } = world.link.exec(COMMAND, { ...quiet, stdout: broken });
    for (let count = 0; count < 8; count += 1) {
      world.far.say("stdout", 1, Buffer.alloc(1024));
      await settled();
    }
    world.far.say("exited", 1, EXITED);
    await expect(exited).rejects.toThrow("the sink broke");
    expect(world.far.sent("credit")).toHaveLength(8);
  });

  it("reports progress as objects and counts lines that are none", async () => {
    const world = greeted();
    const lines: unknown[] = [];
    const { exited } = world.link.exec(COMMAND, { ...quiet, progress: (line) => void lines.push(line) });
    for (const line of ['{"percent":40}', "[1]", "40", "{", '{"__proto__":{"x":1}}', '{"n":1e999}', "\xff"]) {
      world.far.say("progress", 1, Buffer.from(line, "latin1"));
    }
    world.far.say("exited", 1, { ...EXITED, progress_dropped: 1 });
    expect((await exited).progress_dropped).toBe(7);
    expect(lines).toEqual([{ percent: 40 }]);
  });
});

describe("stdin", () => {
  it("waits for the agent's credit and then goes on to its end", async () => {
    const world = greeted();
    world.link.exec({ ...COMMAND, stdin: Buffer.alloc(300_000, "s") }, quiet);
    await settled();
    const bytes = () => world.far.sent("stdin").reduce((sum, { payload }) => sum + payload.length, 0);
    expect([bytes(), world.far.sent("stdin_end")]).toEqual([262_144, []]);

    world.far.say("stdin_credit", 1, { bytes: 65_536 });
    await settled();
    expect([bytes(), world.far.sent("stdin_end").length]).toEqual([300_000, 1]);
  });

  it("waits for the stream, so that a control frame is never behind more than one piece of it", async () => {
    const world = greeted();
    await settled();
    world.far.stalled = [];
    world.link.exec({ ...COMMAND, stdin: Buffer.alloc(262_144) }, quiet);
    await settled();
    expect(world.far.writableLength).toBeLessThan(100_000);
  });

  it("that the command no longer takes is dropped at its end", async () => {
    const world = greeted();
    const { exited } = world.link.exec({ ...COMMAND, stdin: Buffer.alloc(1_000_000) }, quiet);
    world.far.say("exited", 1, EXITED);
    await exited;
    await settled();
    expect(world.far.sent("stdin_end")).toEqual([]);
  });
});

describe("files", () => {
  it("go one after another, and a refusal names errno and path", async () => {
    const world = greeted();
    const first = world.link.writeFile({ path: "a", mode: 0o644, content: Buffer.from("hello") });
    const second = world.link.writeFile({ path: "b", mode: 0o600, content: Buffer.alloc(0) });
    await settled();
    expect(world.far.sent().map(({ name }) => name)).toEqual(["file_begin", "file_data", "file_end"]);

    world.far.say("failed", 1, { errno: "EEXIST", detail: "a" });
    expect(await first).toEqual({ kind: "refused", errno: "EEXIST", path: "a" });
    await settled();
    world.far.say("file_done", 2);
    expect(await second).toEqual({ kind: "written" });
  });
});

describe("the end of the link", () => {
  function everything(world: World): Promise<unknown>[] {
    const { started, exited } = world.link.exec(COMMAND, quiet);
    const file = world.link.writeFile({ path: "a", mode: 0o644, content: Buffer.alloc(1) });
    return [started, exited, file, world.link.killTree(), world.link.ping(5000), world.link.assign({ lifetime_ms: 1 })];
  }

  it.each([
    ["the stream ends", (far: FarEnd) => void far.push(null), { kind: "closed" }],
    ["the stream fails", (far: FarEnd) => void far.destroy(new Error("reset")), { kind: "closed" }],
    [
      "the agent says bye",
      (far: FarEnd) => far.say("bye", 0, { reason: "lifetime" }),
      { kind: "bye", reason: "lifetime" },
    ],
  ] as const)("rejects every open question with LinkLost when %s", async (_, end, expected) => {
    const world = greeted();
    const open = everything(world);
    await settled();
    end(world.far);

    expect(await world.link.ended).toEqual(expected);
    const results = await Promise.allSettled(open);
    expect(results.map((result) => result.status === "rejected" && result.reason instanceof LinkLost)).toEqual(
      open.map(() => true),
    );
  });

  it("answers later questions with LinkLost too", async () => {
    const world = greeted();
    world.link.close();
    const results = await Promise.allSettled(everything(world));
    expect(results.every((result) => result.status === "rejected" && result.reason instanceof LinkLost)).toBe(true);
  });

  it("tells the agent to end and half-closes when it is closed", async () => {
    const world = greeted();
    world.link.close();
    await settled();
    expect([world.far.sent().map(({ name }) => name), world.far.ended]).toEqual([["end"], true]);
  });

  it("gives a sink nothing more after the loss was told", async () => {
    const world = greeted();
    const stdout = gate();
    const { exited } = world.link.exec(COMMAND, { ...quiet, stdout: stdout.take });
    world.far.say("stdout", 1, Buffer.from("a"));
    world.far.say("stdout", 1, Buffer.from("b"));
    await settled();
    world.far.push(null);
    await expect(exited).rejects.toBeInstanceOf(LinkLost);
    stdout.open();
    await settled();
    expect(stdout.seen).toHaveLength(1);
  });
});

describe("a sandbox that breaks the protocol ends its link and nothing else", () => {
  const lies: readonly (readonly [string, (far: FarEnd) => void])[] = [
    ["a second hello", (far) => far.say("hello", 0, HELLO)],
    ["a pong nobody asked for", (far) => far.say("pong", 99)],
    ["output of no command", (far) => far.say("stdout", 99, Buffer.from("x"))],
    ["an end of no command", (far) => far.say("exited", 99, EXITED)],
    ["more output than credit", (far) => far.say("stdout", 1, Buffer.alloc(4097))],
    ["the wrong answer to a question", (far) => far.say("assigned", 2)],
    ["an end told twice", (far) => [1, 2].forEach(() => void far.say("exited", 1, EXITED))],
    ["an unknown frame", (far) => void far.push(Buffer.from("00000000ff00000000", "hex"))],
    ["a frame without bound", (far) => void far.push(Buffer.from("ffffffff8500000001", "hex"))],
    ["a control frame without bound", (far) => far.say("bye", 0, { reason: "x".repeat(70_000) })],
  ];

  it.each(lies)("%s", async (_, lie) => {
    const world = greeted();
    const { exited } = world.link.exec(COMMAND, quiet);
    const pinged = world.link.ping(5000);
    await settled();
    lie(world.far);

    expect(await world.link.ended).toMatchObject({ kind: "protocol_error" });
    expect((await Promise.allSettled([exited, pinged])).every(({ status }) => status === "rejected" || true)).toBe(
      true,
    );
    expect(world.far.destroyed).toBe(true);
  });

  it.each([
    ["another preamble", (far: FarEnd) => void far.push("HTTP/1.1 200 OK\r\n")],
    [
      "a frame before hello",
      (far: FarEnd) => {
        far.push(PREAMBLE);
        far.say("pulse", 0, { t0_ms: 1 });
      },
    ],
  ] as const)("%s", async (_, lie) => {
    const world = open();
    const hello = world.link.hello(5000);
    lie(world.far);
    expect(await world.link.ended).toMatchObject({ kind: "protocol_error" });
    await expect(hello).rejects.toBeInstanceOf(LinkLost);
  });
});

describe("silence", () => {
  it("is told from the last frame that came", async () => {
    const world = greeted();
    await settled();
    world.now_ms = 77;
    world.far.say("pulse", 0, { t0_ms: 1 });
    await settled();
    world.now_ms = 99;
    expect(world.link.lastHeard()).toBe(77);
  });

  it("ends a question at its deadline and not the link", async () => {
    const world = greeted();
    await expect(world.link.ping(1)).rejects.toThrow("no answer to ping within 1 ms");
    world.far.say("pong", 1);
    const hello = await world.link.hello(1000);
    expect(hello.protocol).toBe(1);
  });
});
