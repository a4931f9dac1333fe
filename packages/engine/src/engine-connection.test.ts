import { describe, expect, it } from "vitest";
import type { EngineCall, EngineCaller } from "./engine-call.js";
import { connectionOver, negotiate } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";

interface Heard {
  readonly path: string;
  readonly version: string | null;
}

/** Answers from a list, one entry a call but /version; a call beyond the list is an error of the test. */
function scripted(replies: EngineReply<unknown>[], versions = [{ ApiVersion: "1.41", MinAPIVersion: "1.12" }]) {
  const heard: Heard[] = [];
  const caller: EngineCaller = {
    async call({ path }: EngineCall, version) {
      heard.push({ path, version });
      const reply = path === "/version" ? ok(versions.length > 1 ? versions.shift() : versions[0]) : replies.shift();
      if (reply === undefined) throw new Error(`unexpected call of ${path}`);
      return reply;
    },
    hijack: () => Promise.reject(new Error("unexpected hijack")),
  };
  return { connection: connectionOver(caller), heard };
}

const dropped = failed({ kind: "dropped", detail: "" });
const call = { method: "GET", path: "/x", deadline_ms: 1, idempotent: true } as const;

describe("negotiate", () => {
  it.each([
    ["an engine as old as we are written for", "1.41", "1.12", "1.41"],
    ["a newer one that still speaks ours", "1.51", "1.24", "1.41"],
    ["one that no longer does", "1.52", "1.44", "1.44"],
    ["an older one", "1.40", "1.12", "1.40"],
    ["numbers, not text", "1.9", "1.8", "1.9"],
  ])("%s", (_, newest, oldest, spoken) => {
    expect(negotiate({ newest, oldest })).toBe(spoken);
  });
});

describe("connectionOver", () => {
  it("negotiates once for many calls", async () => {
    const { connection, heard } = scripted([ok(1), ok(2)]);

    await connection.ask(call);
    await connection.ask(call);

    expect(heard).toEqual([
      { path: "/version", version: null },
      { path: "/x", version: "1.41" },
      { path: "/x", version: "1.41" },
    ]);
  });

  it("sends an idempotent call once more after a broken connection, and negotiates anew", async () => {
    const versions = [
      { ApiVersion: "1.41", MinAPIVersion: "1.12" },
      { ApiVersion: "1.52", MinAPIVersion: "1.44" },
    ];
    const { connection, heard } = scripted([dropped, ok("second")], versions);

    expect(await connection.ask(call)).toEqual(ok("second"));
    expect(heard.map(({ version }) => version)).toEqual([null, "1.41", null, "1.44"]);
  });

  it("does not send a call again that may not be applied twice", async () => {
    const { connection } = scripted([dropped]);

    expect(await connection.ask({ ...call, idempotent: false })).toEqual(dropped);
  });

  it("gives up after one repetition", async () => {
    const { connection } = scripted([dropped, dropped]);

    expect(await connection.ask(call)).toEqual(dropped);
  });

  it("negotiates anew where the engine refuses our version, also for a call that may not be applied twice", async () => {
    const mismatch = failed({ kind: "version_mismatch", detail: "" });
    const { connection } = scripted([mismatch, ok("second")]);

    expect(await connection.ask({ ...call, idempotent: false })).toEqual(ok("second"));
  });

  it("refuses an engine that names no version", async () => {
    const { connection } = scripted([], [{ ApiVersion: "", MinAPIVersion: "1.12" }]);

    expect(await connection.ask(call)).toMatchObject({ kind: "failed", failure: { kind: "unexpected" } });
  });
});
