/** The worker's side against an agent that is scripted frame by frame, also one that lies. */
import { describe, expect, it } from "vitest";
import {
  COMMAND,
  EXITED,
  type FarEnd,
  gate,
  greeted,
  HELLO,
  open,
  quiet,
  settled,
  type World,
} from "../test/scripted-agent.js";
import { PREAMBLE } from "./frames.js";
import { LinkLost } from "./guest-link.js";

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
    world.link.exec(COMMAND, quiet);
    const pinged = world.link.ping(5000);
    await settled();
    lie(world.far);

    expect(await world.link.ended).toMatchObject({ kind: "protocol_error" });
    await expect(pinged).rejects.toBeInstanceOf(LinkLost);
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
