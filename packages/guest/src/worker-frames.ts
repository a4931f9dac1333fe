/** What the worker sends for one request that takes more than one frame. */
import type { FrameWriter } from "./frame-writer.js";
import { FRAME_PAYLOAD_BYTES_MAX } from "./frames.js";
import type { GuestExec } from "./guest-link.js";

function listOfTexts(command: GuestExec): { readonly texts: readonly string[]; readonly env_count: number } {
  const env = Object.entries(command.env).map(([key, value]) => `${key}=${value}`);
  const texts = [...command.argv, ...env];
  if (texts.some((text) => text.includes("\0"))) throw new RangeError("a NUL in an argument or environment value");
  return { texts, env_count: env.length };
}

/** Arguments and environment travel ahead of `exec`, as texts closed with NUL: together they may exceed one frame. */
export function sendExec(writer: FrameWriter, id: number, command: GuestExec, window_bytes: number): void {
  const { texts, env_count } = listOfTexts(command);
  const strings = Buffer.from(texts.map((text) => `${text}\0`).join(""));
  for (let at = 0; at < strings.length; at += FRAME_PAYLOAD_BYTES_MAX) {
    writer.data("strings", id, strings.subarray(at, at + FRAME_PAYLOAD_BYTES_MAX));
  }
  writer.control("exec", id, {
    argc: command.argv.length,
    env_count,
    working_directory: command.working_directory,
    timeout_ms: Math.max(1, Math.ceil(command.timeout_ms)),
    leftovers: command.leftovers,
    stdin: command.stdin.length > 0,
    progress: true,
    window_bytes,
  });
}

/** Sends a file's bytes for as long as `wanted` says that the agent still takes them. */
export async function sendFile(writer: FrameWriter, id: number, content: Buffer, wanted: () => boolean): Promise<void> {
  const step = 65_536;
  for (let at = 0; at < content.length && wanted(); at += step) {
    await writer.ready();
    if (wanted()) writer.data("file_data", id, content.subarray(at, at + step));
  }
  if (wanted()) writer.control("file_end", id);
}
