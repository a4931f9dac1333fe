/** Attaches to a created container: its input and output as one stream. An engine closes the input when we are gone. */
import { TIMES } from "@holdfast/contract";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, ok } from "./engine-failure.js";
import { createGuestStream, type GuestStream } from "./guest-stream.js";

export async function attach(connection: EngineConnection, container: string): Promise<EngineReply<GuestStream>> {
  const reply = await connection.hijack({
    method: "POST",
    path: `/containers/${container}/attach`,
    // Podman looks for detach keys in the input even without a terminal, unless they are empty.
    query: { stream: true, stdin: true, stdout: true, stderr: true, detachKeys: "" },
    deadline_ms: TIMES.engine_call_ms,
  });
  if (reply.kind === "failed") return reply;
  reply.value.on("error", () => {});
  reply.value.setNoDelay(true);
  return ok(createGuestStream(reply.value));
}
