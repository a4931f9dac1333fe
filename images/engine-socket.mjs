/** Just enough of the engine's HTTP API for set-up: no client program is needed on the machine. */
import { createReadStream } from "node:fs";
import { request } from "node:http";

/** Path of the engine's socket: DOCKER_HOST where it is a unix one, else the usual place. */
export function engineSocket(env = process.env) {
  const host = env["DOCKER_HOST"];
  if (host === undefined || host === "") return "/var/run/docker.sock";
  if (host.startsWith("unix://")) return host.slice("unix://".length);
  throw new Error("DOCKER_HOST must be a unix:// address: the engine must be on this machine");
}

/**
 * One call. `body` is a readable stream of a tar archive or absent.
 * @returns {Promise<{ status: number, text: string }>}
 */
export function engineCall(socketPath, method, path, { body, deadline_ms = 10_000 } = {}) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/x-tar" };
    const call = request({ socketPath, method, path, headers, signal: AbortSignal.timeout(deadline_ms) }, (reply) => {
      const chunks = [];
      reply.on("data", (chunk) => chunks.push(chunk));
      reply.on("error", reject);
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }));
    });
    call.on("error", reject);
    if (body === undefined) call.end();
    else body.on("error", reject).pipe(call);
  });
}

/** True if an engine answers at the socket. */
export async function engineAnswers(socketPath) {
  try {
    const { status } = await engineCall(socketPath, "GET", "/_ping", { deadline_ms: 3_000 });
    return status === 200;
  } catch {
    return false;
  }
}

async function inspectImage(socketPath, reference) {
  const reply = await engineCall(socketPath, "GET", `/images/${reference}/json`);
  if (reply.status === 404) return null;
  if (reply.status !== 200) throw new Error(`the engine answered ${reply.status} when asked for ${reference}`);
  return JSON.parse(reply.text);
}

/** Loads an archive unless the engine has this very image already. Says which. */
export async function loadImage(socketPath, built) {
  const before = await inspectImage(socketPath, built.image);
  if (before !== null && before.Id === built.id) return "present";
  const body = createReadStream(built.archive);
  const reply = await engineCall(socketPath, "POST", "/images/load?quiet=1", { body, deadline_ms: 120_000 });
  if (reply.status !== 200 || reply.text.includes('"errorDetail"')) {
    throw new Error(`the engine refused ${built.image}: ${reply.status} ${reply.text.slice(0, 400)}`);
  }
  const after = await inspectImage(socketPath, built.image);
  if (after === null || after.RootFS?.Layers?.[0] !== built.layer) {
    throw new Error(`the engine took the archive of ${built.image} but shows another image under that name`);
  }
  // The one it replaced has lost its name; it stays while a container uses it.
  if (before !== null) await engineCall(socketPath, "DELETE", `/images/${before.Id}`, { deadline_ms: 60_000 });
  return "loaded";
}
