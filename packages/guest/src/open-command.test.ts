/** One command on the link: output under credit, stdin, progress and its end. */
import { describe, expect, it } from "vitest";
import { COMMAND, EXITED, gate, greeted, quiet, settled } from "../test/scripted-agent.js";
import { GuestRefused } from "./link-questions.js";

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
