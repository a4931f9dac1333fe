import { performance } from "node:perf_hooks";
import { describe, expect, it } from "vitest";
import { encodeFrame, FRAME_PAYLOAD_BYTES_MAX, FrameReader, PREAMBLE } from "./frames.js";

function opened(): FrameReader {
  const reader = new FrameReader();
  reader.push(Buffer.from(PREAMBLE));
  return reader;
}

function frame(type: number, payload: Buffer): Buffer {
  const bytes = encodeFrame("stdin", 1, payload);
  bytes.writeUInt8(type, 4);
  return bytes;
}

describe("a frame reader", () => {
  it("takes 16 MiB that come byte by byte in linear time", () => {
    const reader = opened();
    const bytes = frame(0x85, Buffer.alloc(FRAME_PAYLOAD_BYTES_MAX, 7));
    const one = Buffer.alloc(1);
    const start = performance.now();
    let payload_bytes = 0;
    for (let round = 0; round < 64; round += 1) {
      for (const byte of bytes) {
        one[0] = byte;
        for (const { payload } of reader.push(one).frames) payload_bytes += payload.length;
      }
    }

    expect(payload_bytes).toBe(16 * 1024 * 1024);
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  it("takes thousands of tiny frames in one piece without recursion", () => {
    const many = Buffer.concat(Array.from({ length: 50_000 }, () => frame(0x85, Buffer.from("x"))));
    const batch = opened().push(many);
    expect(batch.error).toBeNull();
    expect(batch.frames).toHaveLength(50_000);
  });

  it("copies no payload that came whole", () => {
    const bytes = frame(0x85, Buffer.from("hello"));
    const [found] = opened().push(bytes).frames;
    expect(found?.payload.buffer).toBe(bytes.buffer);
  });

  it("reads nothing after an error", () => {
    const reader = opened();
    expect(reader.push(Buffer.from("ffffffff8500000001", "hex")).error).toBe("frame_too_long");
    expect(reader.push(frame(0x85, Buffer.from("x")))).toEqual({ frames: [], error: "frame_too_long" });
  });

  it("reads the longest payload there may be, in two pieces", () => {
    const bytes = frame(0x85, Buffer.alloc(FRAME_PAYLOAD_BYTES_MAX, 1));
    const reader = opened();
    expect(reader.push(bytes.subarray(0, 100_000)).frames).toEqual([]);
    const [found] = reader.push(bytes.subarray(100_000)).frames;
    expect(found?.payload.equals(Buffer.alloc(FRAME_PAYLOAD_BYTES_MAX, 1))).toBe(true);
  });
});

describe("encodeFrame", () => {
  it("refuses a payload the other side would refuse", () => {
    expect(() => encodeFrame("stdin", 1, Buffer.alloc(FRAME_PAYLOAD_BYTES_MAX + 1))).toThrow(RangeError);
  });
});
