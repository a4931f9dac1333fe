/** The calls on containers, each with its own deadline and its answer read into what we use of it. */
import { TIMES } from "@holdfast/contract";
import type { ContainerSpec } from "./container-spec.js";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";
import { type JsonReader, reader } from "./json-reader.js";

export interface CreatedContainer {
  readonly id: string;
  readonly warnings: readonly string[];
}

/** Not sent twice: after an ambiguous answer the caller looks the name up. */
export async function createContainer(
  connection: EngineConnection,
  name: string,
  body: ContainerSpec | object,
): Promise<EngineReply<CreatedContainer>> {
  const reply = await connection.ask({
    method: "POST",
    path: "/containers/create",
    query: { name },
    body,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: false,
  });
  if (reply.kind === "failed") return reply;
  const answer = reader(reply.value);
  const id = answer.text("Id");
  if (id === null) return failed({ kind: "unexpected", detail: "create answered no id" });
  return ok({ id, warnings: answer.list("Warnings").map(({ raw }) => String(raw)) });
}

type Verb = "start" | "kill" | "wait" | "unpause";

function order(
  connection: EngineConnection,
  id: string,
  verb: Verb,
  deadline_ms: number,
  query: Readonly<Record<string, string>> = {},
): Promise<EngineReply<unknown>> {
  return connection.ask({ method: "POST", path: `/containers/${id}/${verb}`, query, deadline_ms, idempotent: true });
}

export function startContainer(
  connection: EngineConnection,
  id: string,
  deadline_ms: number,
): Promise<EngineReply<unknown>> {
  return order(connection, id, "start", deadline_ms);
}

/** SIGKILL. The engine answers after the container's end. */
export function killContainer(connection: EngineConnection, id: string): Promise<EngineReply<unknown>> {
  return order(connection, id, "kill", TIMES.engine_kill_ms, { signal: "SIGKILL" });
}

/** Resolves once the container does not run. */
export function awaitStop(
  connection: EngineConnection,
  id: string,
  deadline_ms: number,
): Promise<EngineReply<unknown>> {
  return order(connection, id, "wait", deadline_ms, { condition: "not-running" });
}

export function unpauseContainer(connection: EngineConnection, id: string): Promise<EngineReply<unknown>> {
  return order(connection, id, "unpause", TIMES.engine_call_ms);
}

/** Removes it with its anonymous volumes. */
export function removeContainer(connection: EngineConnection, id: string): Promise<EngineReply<unknown>> {
  return connection.ask({
    method: "DELETE",
    path: `/containers/${id}`,
    query: { v: true },
    deadline_ms: TIMES.engine_remove_ms,
    idempotent: true,
  });
}

/** By id or exact name. */
export async function inspectContainer(connection: EngineConnection, ref: string): Promise<EngineReply<JsonReader>> {
  const reply = await connection.ask({
    method: "GET",
    path: `/containers/${ref}/json`,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  return reply.kind === "failed" ? reply : ok(reader(reply.value));
}

export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: string;
  /** Engine's own clock, milliseconds. */
  readonly created_at_ms: number;
}

/** Containers in every state that bear all of `labels` (`name=value`). */
export async function listContainers(
  connection: EngineConnection,
  labels: readonly string[],
): Promise<EngineReply<readonly ListedContainer[]>> {
  const reply = await connection.ask({
    method: "GET",
    path: "/containers/json",
    query: { all: true, filters: JSON.stringify({ label: labels }) },
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  if (reply.kind === "failed") return reply;
  if (!Array.isArray(reply.value)) return failed({ kind: "unexpected", detail: "list answered no list" });
  const found = reply.value.map((row) => {
    const entry = reader(row);
    return {
      id: entry.text("Id") ?? "",
      name: String(entry.list("Names")[0]?.raw ?? "").replace(/^\//, ""),
      labels: entry.texts("Labels"),
      state: entry.text("State") ?? "unknown",
      created_at_ms: (entry.number("Created") ?? Number.NaN) * 1000,
    };
  });
  return ok(found.filter(({ id }) => id !== ""));
}

export function putArchive(
  connection: EngineConnection,
  id: string,
  directory: string,
  tar: Buffer,
): Promise<EngineReply<unknown>> {
  return connection.ask({
    method: "PUT",
    path: `/containers/${id}/archive`,
    query: { path: directory },
    body: tar,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
}

export async function getArchive(connection: EngineConnection, id: string, path: string): Promise<EngineReply<Buffer>> {
  const reply = await connection.ask({
    method: "GET",
    path: `/containers/${id}/archive`,
    query: { path },
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  if (reply.kind === "failed") return reply;
  if (Buffer.isBuffer(reply.value)) return ok(reply.value);
  return failed({ kind: "unexpected", detail: "the archive is no archive" });
}
