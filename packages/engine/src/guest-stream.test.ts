import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createGuestStream } from "./guest-stream.js";

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

/** Both ends of a real socket pair: what an engine would hand over, and the engine's side of it. */
async function pair(): Promise<{ engine: Socket; ours: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const ours = connect(address.port, "127.0.0.1");
  const [engine] = (await once(server, "connection")) as [Socket];
  server.close();
  open.push(engine, ours);
  return { engine, ours };
}

function frame(stream: number, payload: Buffer | string): Buffer {
  const body = Buffer.from(payload);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

describe("createGuestStream", () => {
  it("gives output without framing, keeps error output as capped diagnostics, and ends with the engine's end", async () => {
    const { engine, ours } = await pair();
    const guest = createGuestStream(ours);
    engine.end(Buffer.concat([frame(1, "a"), frame(2, "x".repeat(50_000)), frame(1, "b")]));

    const chunks: Buffer[] = [];
    for await (const chunk of guest.stream) chunks.push(chunk);

    expect(Buffer.concat(chunks).toString()).toBe("ab");
    expect(guest.diagnostics()).toBe("x".repeat(16_384));
  });

  it("carries input as it is and half-closes it", async () => {
    const { engine, ours } = await pair();
    const guest = createGuestStream(ours);
    const input: Buffer[] = [];
    engine.on("data", (chunk) => input.push(chunk));

    guest.stream.end("in");
    await once(engine, "end");
    engine.end(frame(1, "still heard"));
    const chunks: Buffer[] = [];
    for await (const chunk of guest.stream) chunks.push(chunk);

    expect(Buffer.concat(input).toString()).toBe("in");
    expect(Buffer.concat(chunks).toString()).toBe("still heard");
  });

  it("stops reading while nobody takes the output, and goes on when told to throw it away", async () => {
    const { engine, ours } = await pair();
    const guest = createGuestStream(ours);
    const bytes = frame(1, Buffer.alloc(8 * 1024 * 1024));
    let flushed = false;
    engine.write(bytes, () => {
      flushed = true;
    });

    await once(guest.stream, "readable");
    await new Promise((resolve) => setImmediate(resolve));
    expect(ours.isPaused()).toBe(true);
    expect(flushed).toBe(false);

    guest.discard();
    await once(engine, "drain");
    expect(flushed).toBe(true);
  });

  it.each([
    ["inside a frame", frame(1, "abc").subarray(0, 9)],
    ["with bytes that are no frame", Buffer.from("HTTP/1.1 200 OK")],
  ])("fails where the engine ends %s", async (_, bytes) => {
    const { engine, ours } = await pair();
    const guest = createGuestStream(ours);
    engine.end(bytes);

    await expect(async () => {
      for await (const _chunk of guest.stream);
    }).rejects.toThrow(/engine's stream/);
  });

  it("a write after process 1 has closed does not cut off what it said last", async () => {
    const { engine, ours } = await pair();
    const guest = createGuestStream(ours);
    engine.end(frame(1, "last words"));
    await once(ours, "end");

    guest.stream.write("pulse");
    const chunks: Buffer[] = [];
    for await (const chunk of guest.stream) chunks.push(chunk);

    expect(Buffer.concat(chunks).toString()).toBe("last words");
  });
});
