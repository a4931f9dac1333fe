/**
 * The byte stream between guest link and process 1: the hijacked socket without Docker's framing.
 * Back-pressure goes through both ways. What process 1 writes to its error output is kept as diagnostics, capped.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { createDemultiplexer } from "./demultiplexer.js";

const DIAGNOSTICS_BYTES_MAX = 16 * 1024;

export interface GuestStream {
  readonly stream: Duplex;
  /** The first bytes of process 1's error output, for an operator's log. */
  diagnostics(): string;
  /** From now on output is read and thrown away: an engine holds an exit back while its stream is not read. */
  discard(): void;
  /** Resolves once the engine has ended the stream, or it broke: process 1 is gone, or out of reach. */
  readonly over: Promise<void>;
}

export function createGuestStream(socket: Socket): GuestStream {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let ended = false;
  let discarding = false;

  const demultiplexer = createDemultiplexer({
    stdout(slice) {
      if (!discarding && !stream.push(slice)) socket.pause();
    },
    stderr(slice) {
      const part = slice.subarray(0, DIAGNOSTICS_BYTES_MAX - keptBytes);
      if (part.length > 0) kept.push(Buffer.from(part));
      keptBytes += part.length;
    },
  });

  const stream = new Duplex({
    read: () => void socket.resume(),
    // Once process 1 has closed, its last words may still wait to be read: a late write must not cut them off.
    write: (chunk: Buffer, _encoding, done) => (socket.writable ? void socket.write(chunk, done) : done()),
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });

  // A stream without this listener would end the whole process on a broken pipe.
  stream.on("error", () => {});
  socket.on("error", (error) => stream.destroy(error));
  socket.on("data", (chunk) => {
    if (!demultiplexer.push(chunk)) stream.destroy(new Error("the engine's stream is out of step"));
  });
  socket.on("end", () => {
    ended = true;
    if (demultiplexer.atBoundary()) stream.push(null);
    else stream.destroy(new Error("the engine's stream ended inside a frame"));
  });
  const over = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) socket.on(event, () => resolve());
  });
  socket.on("close", () => {
    if (!ended) stream.destroy(new Error("the engine's stream was cut"));
  });
  return {
    stream,
    over,
    diagnostics: () => Buffer.concat(kept).toString("utf8"),
    discard() {
      discarding = true;
      socket.resume();
    },
  };
}
