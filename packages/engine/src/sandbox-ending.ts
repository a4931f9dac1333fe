/**
 * Why a sandbox ended although nobody here ended it. Process 1 gone while the engine is well is the user's doing;
 * an engine that cannot be asked, or that is going down and takes its containers with it, is not.
 */
import { pause } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { LinkEnd } from "@holdfast/guest";
import { inspectContainer } from "./container-calls.js";
import type { SandboxEnd } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";
import type { JsonReader } from "./json-reader.js";

/** An engine that shuts down answers for a moment after it has killed its containers. */
const CONFIRM_LOOKS = 3;
const CONFIRM_MS = 500;
/** SIGKILL, which no code inside can send to process 1. */
const EXIT_KILLED = 137;
/** The engine's word for an end it did not see. */
const EXIT_UNKNOWN = 255;
/** Process 1 ends itself with this alone, as when a dying engine closes its input. No code inside can cause it. */
const EXIT_IN_ORDER = 0;

async function staysWell(connection: EngineConnection): Promise<boolean> {
  for (let looks = 0; looks < CONFIRM_LOOKS; looks++) {
    await pause(CONFIRM_MS);
    if (!(await connection.ping(TIMES.engine_ping_deadline_ms))) return false;
  }
  return true;
}

async function explainStopped(connection: EngineConnection, state: JsonReader): Promise<SandboxEnd> {
  const [exitCode, oom_killed] = [state.number("ExitCode"), state.flag("OOMKilled")];
  const detail = `process 1 is gone, exit code ${exitCode ?? "unknown"}`;
  if (exitCode === EXIT_UNKNOWN || exitCode === EXIT_IN_ORDER) return { kind: "engine_lost", detail };
  const fromOutside = exitCode === EXIT_KILLED && oom_killed !== true;
  if (fromOutside && !(await staysWell(connection))) return { kind: "engine_lost", detail: "the engine went away" };
  return { kind: "guest_lost", detail, oom_killed };
}

/** Looks at a container whose stream has ended or fallen silent. Null: it is running as it should. */
export async function lookAt(connection: EngineConnection, id: string): Promise<SandboxEnd | null> {
  const reply = await inspectContainer(connection, id);
  if (reply.kind === "failed") {
    return {
      kind: "engine_lost",
      detail: reply.failure.kind === "not_found" ? "no such container" : reply.failure.kind,
    };
  }
  const state = reply.value.at("State");
  if (state.flag("Paused") === true) return { kind: "engine_lost", detail: "paused from outside" };
  return state.flag("Running") === true ? null : explainStopped(connection, state);
}

/** Tells what the end of the link means. */
export async function explainLinkEnd(connection: EngineConnection, id: string, end: LinkEnd): Promise<SandboxEnd> {
  if (end.kind === "bye" && (end.reason === "lifetime" || end.reason === "permission")) {
    return { kind: "expired", reason: end.reason };
  }
  if (end.kind === "protocol_error")
    return { kind: "guest_lost", detail: "broke the link's protocol", oom_killed: null };
  for (let looks = 0; looks < CONFIRM_LOOKS; looks++) {
    const found = await lookAt(connection, id);
    // Process 1 that saw its input end says so, and it is the engine that ended it.
    if (found?.kind === "guest_lost" && end.kind === "bye")
      return { kind: "engine_lost", detail: `bye: ${end.reason}` };
    if (found !== null) return found;
    await pause(CONFIRM_MS);
  }
  return { kind: "engine_lost", detail: "the engine cut the sandbox's stream" };
}
