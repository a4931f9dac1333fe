/**
 * The line to one engine: negotiates the API version, again after the engine was away, and sends a call once more
 * where a pooled connection had died under it. Only a call that may be applied twice is sent twice.
 */
import type { Socket } from "node:net";
import { TIMES } from "@holdfast/contract";
import { createEngineCaller, type EngineCall, type EngineCaller } from "./engine-call.js";
import { type EngineReply, failed, isAway, ok } from "./engine-failure.js";
import { reader } from "./json-reader.js";

/** What we are written against; every engine since 20.10 speaks it, or says what it speaks instead. */
const API_VERSION = "1.41";

export interface ConnectionCall extends EngineCall {
  /** Sending it twice does no harm. */
  readonly idempotent: boolean;
}

export interface EngineConnection {
  ask(call: ConnectionCall): Promise<EngineReply<unknown>>;
  hijack(call: EngineCall): Promise<EngineReply<Socket>>;
  /** True if the engine answered within `deadline_ms`. */
  ping(deadline_ms: number): Promise<boolean>;
  /** As negotiated last; null before the first answer. */
  apiVersion(): string | null;
}

function compareVersions(left: string, right: string): number {
  const [a = [], b = []] = [left, right].map((text) => text.split(".").map(Number));
  return (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0);
}

/** The version both sides speak: ours, the engine's newest where that is older, its oldest where that is newer. */
export function negotiate(engine: { readonly newest: string; readonly oldest: string }): string {
  const wanted = compareVersions(engine.newest, API_VERSION) < 0 ? engine.newest : API_VERSION;
  return compareVersions(wanted, engine.oldest) < 0 ? engine.oldest : wanted;
}

export function createEngineConnection(socketPath: string): EngineConnection {
  return connectionOver(createEngineCaller(socketPath));
}

/** The same over any caller. */
export function connectionOver(caller: EngineCaller): EngineConnection {
  let negotiated: string | null = null;
  let current = false;

  async function version(): Promise<EngineReply<string>> {
    if (current && negotiated !== null) return ok(negotiated);
    const reply = await caller.call({ method: "GET", path: "/version", deadline_ms: TIMES.engine_call_ms }, null);
    if (reply.kind === "failed") return reply;
    const answer = reader(reply.value);
    const [newest, oldest] = [answer.text("ApiVersion"), answer.text("MinAPIVersion") ?? "1.12"];
    if (newest === null || !/^1\.[0-9]+$/.test(newest) || !/^1\.[0-9]+$/.test(oldest)) {
      return failed({ kind: "unexpected", detail: "the engine names no API version" });
    }
    negotiated = negotiate({ newest, oldest });
    current = true;
    return ok(negotiated);
  }

  async function once<T>(send: (version: string) => Promise<EngineReply<T>>): Promise<EngineReply<T>> {
    const spoken = await version();
    if (spoken.kind === "failed") return spoken;
    const reply = await send(spoken.value);
    // An engine that was away may come back as another version.
    if (reply.kind === "failed" && (isAway(reply.failure) || reply.failure.kind === "version_mismatch"))
      current = false;
    return reply;
  }

  return {
    async ask(call) {
      const reply = await once((spoken) => caller.call(call, spoken));
      if (reply.kind === "ok") return reply;
      const again = reply.failure.kind === "version_mismatch" || (call.idempotent && reply.failure.kind === "dropped");
      return again ? once((spoken) => caller.call(call, spoken)) : reply;
    },
    hijack: (call) => once((spoken) => caller.hijack(call, spoken)),
    async ping(deadline_ms) {
      const reply = await caller.call({ method: "GET", path: "/_ping", deadline_ms }, null);
      if (reply.kind === "failed") current = false;
      return reply.kind === "ok";
    },
    apiVersion: () => negotiated,
  };
}
