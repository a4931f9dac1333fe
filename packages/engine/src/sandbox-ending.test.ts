import type { LinkEnd } from "@holdfast/guest";
import { describe, expect, it } from "vitest";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";
import { explainLinkEnd } from "./sandbox-ending.js";

/** An engine that answers each inspect with the same. */
function answering(reply: EngineReply<unknown>): EngineConnection {
  return {
    ask: async () => reply,
    hijack: () => Promise.reject(new Error("unexpected hijack")),
    ping: async () => true,
    apiVersion: () => "1.41",
  };
}

const state = (State: object) =>
  answering(ok({ State: { Running: false, Paused: false, OOMKilled: false, ...State } }));
const closed: LinkEnd = { kind: "closed" };
const bye = (reason: string): LinkEnd => ({ kind: "bye", reason });

describe("explainLinkEnd", () => {
  it.each([
    ["lifetime over", state({}), bye("lifetime"), { kind: "expired", reason: "lifetime" }],
    ["permission over", state({}), bye("permission"), { kind: "expired", reason: "permission" }],
    ["a broken protocol", state({}), { kind: "protocol_error", message: "x" }, { kind: "guest_lost" }],
    ["memory ran out", state({ ExitCode: 137, OOMKilled: true }), closed, { kind: "guest_lost", oom_killed: true }],
    ["process 1 crashed", state({ ExitCode: 139 }), closed, { kind: "guest_lost", oom_killed: false }],
    ["an end the engine did not see", state({ ExitCode: 255 }), closed, { kind: "engine_lost" }],
    ["it ended in order and nobody heard its bye", state({ ExitCode: 0 }), closed, { kind: "engine_lost" }],
    ["its input was closed by the engine", state({ ExitCode: 0 }), bye("stdin_closed"), { kind: "engine_lost" }],
    ["paused from outside", state({ Running: true, Paused: true }), closed, { kind: "engine_lost" }],
    ["the container is unknown", answering(failed({ kind: "not_found", detail: "" })), closed, { kind: "engine_lost" }],
    ["the engine is away", answering(failed({ kind: "unreachable", detail: "" })), closed, { kind: "engine_lost" }],
  ] as const)("%s", async (_, connection, end, expected) => {
    expect(await explainLinkEnd(connection, "c1", end)).toMatchObject(expected);
  });
});
