/** Framing of the link: u32be payload length, u8 type, u32be command id, payload; first, both ways, the preamble. */

export const PREAMBLE = "HOLDFAST1\n";
export const FRAME_HEADER_BYTES = 9;
export const FRAME_PAYLOAD_BYTES_MAX = 262_144;
/** Bytes of stdin that may be under way before the agent has given credit. */
export const STDIN_WINDOW_BYTES = 262_144;
export const PROGRESS_LINE_BYTES_MAX = 1024;

export const WORKER_FRAME = {
  assign: 0x01,
  exec: 0x02,
  stdin: 0x03,
  stdin_end: 0x04,
  signal: 0x05,
  kill_tree: 0x06,
  file_begin: 0x07,
  file_data: 0x08,
  file_end: 0x09,
  ping: 0x0a,
  permit: 0x0b,
  credit: 0x0c,
  end: 0x0d,
  strings: 0x0e,
} as const;
export type WorkerFrameName = keyof typeof WORKER_FRAME;

export const AGENT_FRAME = {
  hello: 0x81,
  pulse: 0x82,
  assigned: 0x83,
  started: 0x84,
  stdout: 0x85,
  stderr: 0x86,
  progress: 0x87,
  exited: 0x88,
  tree: 0x89,
  file_done: 0x8a,
  pong: 0x8b,
  failed: 0x8c,
  bye: 0x8d,
  stdin_credit: 0x8e,
} as const;
export type AgentFrameName = keyof typeof AGENT_FRAME;

/** Why bytes of the other side are refused; the same words in the byte vectors and in the agent. */
export type FrameError = "bad_preamble" | "frame_too_long" | "unknown_type" | "bad_json" | "bad_field";

export interface Frame {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

export interface FrameBatch {
  readonly frames: readonly Frame[];
  /** What makes the bytes after these frames unreadable. */
  readonly error: FrameError | null;
}

/** The header of a frame whose payload is sent beside it. */
export function frameHeader(name: WorkerFrameName, id: number, payload_bytes: number): Buffer {
  const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  header.writeUInt32BE(payload_bytes, 0);
  header.writeUInt8(WORKER_FRAME[name], 4);
  header.writeUInt32BE(id, 5);
  return header;
}

/** A whole frame; a payload over 256 KiB is a fault of the caller. */
export function encodeFrame(name: WorkerFrameName, id: number, payload: Buffer | object | null = null): Buffer {
  const body = payload === null || Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload));
  const length = body?.length ?? 0;
  if (length > FRAME_PAYLOAD_BYTES_MAX) throw new RangeError(`a ${name} frame of ${length} bytes`);
  return body ? Buffer.concat([frameHeader(name, id, length), body]) : frameHeader(name, id, 0);
}

/**
 * Cuts a stream into frames, whatever its pieces. Work and memory are linear in what arrives: a payload is copied once
 * into a buffer of its announced and bounded length, and not at all where it came in one piece.
 */
export class FrameReader {
  #preambleSeen = 0;
  readonly #header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  #headerLength = 0;
  #payload: Buffer | null = null;
  #payloadLength = 0;
  #error: FrameError | null = null;

  push(chunk: Buffer): FrameBatch {
    const frames: Frame[] = [];
    let at = this.#error ? chunk.length : this.#takePreamble(chunk);
    while (at < chunk.length && !this.#error) at += this.#take(chunk, at, frames);
    return { frames, error: this.#error };
  }

  #takePreamble(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && this.#preambleSeen < PREAMBLE.length) {
      if (chunk[at] !== PREAMBLE.charCodeAt(this.#preambleSeen)) {
        this.#error = "bad_preamble";
        return chunk.length;
      }
      at += 1;
      this.#preambleSeen += 1;
    }
    return at;
  }

  #take(chunk: Buffer, from: number, frames: Frame[]): number {
    return this.#payload ? this.#takePayload(chunk, from, frames) : this.#takeHeader(chunk, from, frames);
  }

  #takeHeader(chunk: Buffer, from: number, frames: Frame[]): number {
    const copied = chunk.copy(this.#header, this.#headerLength, from, from + FRAME_HEADER_BYTES - this.#headerLength);
    this.#headerLength += copied;
    if (this.#headerLength < FRAME_HEADER_BYTES) return copied;

    const length = this.#header.readUInt32BE(0);
    const start = from + copied;
    if (length > FRAME_PAYLOAD_BYTES_MAX) {
      this.#error = "frame_too_long";
      return copied;
    }
    if (chunk.length - start >= length) {
      this.#finish(chunk.subarray(start, start + length), frames);
      return copied + length;
    }
    this.#payload = Buffer.allocUnsafe(length);
    return copied;
  }

  #takePayload(chunk: Buffer, from: number, frames: Frame[]): number {
    const payload = this.#payload as Buffer;
    const copied = chunk.copy(payload, this.#payloadLength, from);
    this.#payloadLength += copied;
    if (this.#payloadLength === payload.length) this.#finish(payload, frames);
    return copied;
  }

  #finish(payload: Buffer, frames: Frame[]): void {
    frames.push({ type: this.#header.readUInt8(4), id: this.#header.readUInt32BE(5), payload });
    this.#headerLength = 0;
    this.#payload = null;
    this.#payloadLength = 0;
  }
}
