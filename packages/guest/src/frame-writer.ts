import type { Duplex } from "node:stream";
import { encodeFrame, frameHeader, type WorkerFrameName } from "./frames.js";

/**
 * The writing half of the link. Control frames go out at once; bulk waits until the other side has taken what went
 * before, in pieces small enough that a control frame never waits long behind one.
 */
export class FrameWriter {
  static readonly BULK_BYTES_MAX = 65_536;
  readonly #stream: Duplex;
  #permitUnderWay = false;
  #drained: Promise<void> | null = null;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("drain", () => this.#resume());
  }

  raw(text: string): void {
    if (!this.#closed) this.#stream.write(text);
  }

  control(name: WorkerFrameName, id: number, body: object | null = null): void {
    if (!this.#closed) this.#stream.write(encodeFrame(name, id, body));
  }

  /** One permission at a time is under way: a side that asks and does not read cannot fill our memory. */
  permit(body: { readonly t0_ms: number; readonly live_ms: number }): void {
    if (this.#closed || this.#permitUnderWay) return;
    this.#permitUnderWay = true;
    this.#stream.write(encodeFrame("permit", 0, body), () => {
      this.#permitUnderWay = false;
    });
  }

  data(name: WorkerFrameName, id: number, payload: Buffer): void {
    if (this.#closed) return;
    this.#stream.cork();
    this.#stream.write(frameHeader(name, id, payload.length));
    this.#stream.write(payload);
    this.#stream.uncork();
  }

  /** Resolves once more bulk may be written, and when the link is over. */
  async ready(): Promise<void> {
    if (this.#closed || !this.#stream.writableNeedDrain) return;
    this.#drained ??= new Promise((resolve) => {
      this.#wake = resolve;
    });
    await this.#drained;
  }

  /** Nothing is written any more; who waits goes on. */
  close(): void {
    this.#closed = true;
    this.#resume();
  }

  get closed(): boolean {
    return this.#closed;
  }

  #resume(): void {
    this.#wake?.();
    this.#wake = null;
    this.#drained = null;
  }
}
