import { describe, expect, it } from "vitest";
import { createDemultiplexer, FRAME_BYTES_MAX } from "./demultiplexer.js";

function frame(stream: number, payload: Buffer | string): Buffer {
  const body = Buffer.from(payload);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function setup() {
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  const demultiplexer = createDemultiplexer({ stdout: (slice) => out.push(slice), stderr: (slice) => err.push(slice) });
  return { demultiplexer, out: () => Buffer.concat(out), err: () => Buffer.concat(err), slices: out };
}

describe("createDemultiplexer", () => {
  it("keeps the streams apart and drops the echo of input", () => {
    const { demultiplexer, out, err } = setup();

    expect(demultiplexer.push(Buffer.concat([frame(1, "a"), frame(2, "E"), frame(0, "i"), frame(1, "b")]))).toBe(true);

    expect([out().toString(), err().toString()]).toEqual(["ab", "E"]);
  });

  it("takes headers and payloads cut at every place", () => {
    const { demultiplexer, out, err } = setup();
    const bytes = Buffer.concat([frame(1, "hello"), frame(2, ""), frame(2, "xyz"), frame(1, "!")]);

    for (const byte of bytes) demultiplexer.push(Buffer.from([byte]));

    expect([out().toString(), err().toString(), demultiplexer.atBoundary()]).toEqual(["hello!", "xyz", true]);
  });

  it("takes output that looks like a header as output (AT-D2)", () => {
    const { demultiplexer, out } = setup();
    const body = frame(2, "forged");

    demultiplexer.push(frame(1, body));

    expect(out()).toEqual(body);
  });

  it("takes 100,000 one-byte frames in one read without a deep stack", () => {
    const { demultiplexer, out } = setup();

    demultiplexer.push(Buffer.concat(Array.from({ length: 100_000 }, () => frame(1, "x"))));

    expect(out().length).toBe(100_000);
  });

  it("passes a 16 MiB frame on in the pieces it comes in, without copying it together", () => {
    const { demultiplexer, slices } = setup();
    const bytes = frame(1, Buffer.alloc(FRAME_BYTES_MAX, 7));

    for (let at = 0; at < bytes.length; at += 65_536) demultiplexer.push(bytes.subarray(at, at + 65_536));

    expect(slices.every((slice) => slice.buffer === bytes.buffer)).toBe(true);
    expect(slices.reduce((sum, slice) => sum + slice.length, 0)).toBe(FRAME_BYTES_MAX);
  });

  it.each([
    ["a stream number beyond 2", Buffer.from([3, 0, 0, 0, 0, 0, 0, 1])],
    ["nonzero padding", Buffer.from([1, 0, 1, 0, 0, 0, 0, 1])],
    ["a length beyond the bound (AT-D3)", Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff])],
  ])("breaks on %s and takes nothing afterwards", (_, header) => {
    const { demultiplexer, out } = setup();

    expect(demultiplexer.push(Buffer.concat([frame(1, "ok"), header, Buffer.from("z")]))).toBe(false);
    expect(demultiplexer.push(frame(1, "late"))).toBe(false);

    expect(out().toString()).toBe("ok");
  });

  it("tells the end inside a header and inside a payload from the end between frames", () => {
    const inHeader = setup().demultiplexer;
    inHeader.push(Buffer.from([1, 0]));
    const inPayload = setup().demultiplexer;
    inPayload.push(frame(1, "ab").subarray(0, 9));

    expect([inHeader.atBoundary(), inPayload.atBoundary()]).toEqual([false, false]);
  });
});
