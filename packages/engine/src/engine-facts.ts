/** What an engine says of itself. */
import { TIMES } from "@holdfast/contract";
import type { EnginePlace } from "./doctor/read-walls.js";
import type { EngineFacts } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";
import { type JsonReader, reader } from "./json-reader.js";

async function info(connection: EngineConnection): Promise<EngineReply<JsonReader>> {
  const reply = await connection.ask({
    method: "GET",
    path: "/info",
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  return reply.kind === "failed" ? reply : ok(reader(reply.value));
}

export async function readFacts(connection: EngineConnection): Promise<EngineReply<EngineFacts>> {
  const reply = await info(connection);
  if (reply.kind === "failed") return reply;
  const [cpus, memory] = [reply.value.number("NCPU"), reply.value.number("MemTotal")];
  if (reply.value.text("OSType") !== "linux" || cpus === null || memory === null) {
    return failed({ kind: "unexpected", detail: "the engine is not a Linux one that tells its cores and memory" });
  }
  return ok({
    engine_version: reply.value.text("ServerVersion") ?? "unknown",
    api_version: connection.apiVersion() ?? "unknown",
    cgroup_version: reply.value.text("CgroupVersion") === "2" ? 2 : 1,
    cpus,
    memory_mb: Math.floor(memory / (1024 * 1024)),
    // Engines also list their own shims there, some of which start nothing.
    runtimes: reply.value
      .at("Runtimes")
      .keys()
      .filter((name) => !name.startsWith("io.containerd."))
      .toSorted(),
  });
}

/** The runtime that sandboxes of ours, which serve no caller, are started with. */
export function setUpRuntime({ runtimes }: Pick<EngineFacts, "runtimes">): string {
  return runtimes.includes("runc") ? "runc" : (runtimes[0] ?? "runc");
}

/** Where the engine keeps its data, and whose keys its containers count for. */
export function placeOf(about: JsonReader): EnginePlace {
  const options = about.list("SecurityOptions").map(({ raw }) => String(raw));
  const keys_of_root = !options.some((option) => /^name=(rootless|userns)/.test(option));
  return { data_root: about.text("DockerRootDir"), keys_of_root };
}

export async function readPlace(connection: EngineConnection): Promise<EnginePlace> {
  const reply = await info(connection);
  return reply.kind === "failed" ? { data_root: null, keys_of_root: true } : placeOf(reply.value);
}

/** The engine's own clock, milliseconds. Ages of containers are judged by it alone. */
export async function readEngineClock(connection: EngineConnection): Promise<EngineReply<number>> {
  const reply = await info(connection);
  if (reply.kind === "failed") return reply;
  const now = Date.parse(reply.value.text("SystemTime") ?? "");
  return Number.isNaN(now) ? failed({ kind: "unexpected", detail: "the engine tells no time" }) : ok(now);
}
