/**
 * Takes Docker's stream framing apart: one byte stream, three zero bytes, u32be length, payload.
 * Written as one loop that keeps no payload: hostile output (thousands of tiny frames in one read, a large frame in
 * small reads) costs time in proportion to its bytes and no memory.
 */
const HEADER_BYTES = 8;
/** Engines write 32 KiB at a time at most; more than this is no header but a stream out of step. */
export const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export interface FrameSinks {
  stdout(slice: Buffer): void;
  stderr(slice: Buffer): void;
}

export interface Demultiplexer {
  /** Gives slices of `chunk` to the sinks. False once the framing was broken; nothing is taken afterwards. */
  push(chunk: Buffer): boolean;
  /** True between two frames. */
  atBoundary(): boolean;
}

export function createDemultiplexer(sinks: FrameSinks): Demultiplexer {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;
  let broken = false;

  function headerIsValid(): boolean {
    const stream = header[0] ?? 255;
    return stream <= 2 && header.readUIntBE(1, 3) === 0 && header.readUInt32BE(4) <= FRAME_BYTES_MAX;
  }

  function takeHeader(chunk: Buffer, offset: number): number {
    const taken = chunk.copy(header, headerBytes, offset, offset + HEADER_BYTES - headerBytes);
    headerBytes += taken;
    if (headerBytes < HEADER_BYTES) return taken;
    if (!headerIsValid()) broken = true;
    left = header.readUInt32BE(4);
    if (left === 0) headerBytes = 0;
    return taken;
  }

  function takePayload(chunk: Buffer, offset: number): number {
    const slice = chunk.subarray(offset, offset + left);
    left -= slice.length;
    // Stream 0 is the echo of input, which nothing here has.
    if (header[0] === 2) sinks.stderr(slice);
    else if (header[0] === 1) sinks.stdout(slice);
    if (left === 0) headerBytes = 0;
    return slice.length;
  }

  return {
    push(chunk) {
      let offset = 0;
      while (offset < chunk.length && !broken) {
        offset += headerBytes < HEADER_BYTES ? takeHeader(chunk, offset) : takePayload(chunk, offset);
      }
      return !broken;
    },
    atBoundary: () => headerBytes === 0,
  };
}
