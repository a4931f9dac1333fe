/** One command under way on the link: its output in order under credit, its stdin, and its end. */
import { type Exited, progressLineSchema } from "@holdfast/contract";
import { ByteQueue } from "./byte-queue.js";
import { guestExit } from "./exit-report.js";
import type { FrameWriter } from "./frame-writer.js";
import { STDIN_WINDOW_BYTES } from "./frames.js";
import type { GuestExit, GuestSinks } from "./guest-link.js";
import { type PumpSource, SinkPump } from "./sink-pump.js";
import { parseUntrustedJson } from "./untrusted-json.js";

/** The agent sends ten lines a second; a sink that lags further than this loses lines, counted. */
const PROGRESS_WAITING_MAX = 64;

type ProgressLine = Record<string, unknown>;

class LineQueue implements PumpSource<ProgressLine> {
  #lines: ProgressLine[] = [];
  push(line: ProgressLine): void {
    this.#lines.push(line);
  }
  shift(): ProgressLine | null {
    return this.#lines.shift() ?? null;
  }
  clear(): void {
    this.#lines = [];
  }
  get length(): number {
    return this.#lines.length;
  }
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** A rejection nobody listens to is no crash: a caller may wait for `exited` only. */
function defer<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

export interface OpenCommandOptions {
  readonly id: number;
  readonly window_bytes: number;
  readonly sinks: GuestSinks;
  readonly writer: FrameWriter;
}

export class OpenCommand {
  readonly id: number;
  readonly #options: OpenCommandOptions;
  readonly #started = defer<{ readonly pid: number }>();
  readonly #exited = defer<GuestExit>();
  readonly #output: { readonly stdout: SinkPump<Buffer>; readonly stderr: SinkPump<Buffer> };
  readonly #lines = new LineQueue();
  readonly #progress: SinkPump<ProgressLine>;
  /** Output that is here or on its way to a sink. */
  #underWay = 0;
  /** Output that was taken and not yet given back as credit. */
  #owed = 0;
  #droppedLines = 0;
  #hasExited = false;
  #over = false;
  #stdinCredit = STDIN_WINDOW_BYTES;
  #wakeStdin: (() => void) | null = null;

  constructor(options: OpenCommandOptions) {
    this.id = options.id;
    this.#options = options;
    const { sinks } = options;
    const pump = (take: GuestSinks["stdout"]) =>
      new SinkPump<Buffer>({ source: new ByteQueue(), take, taken: (piece) => this.#giveBack(piece.length) });
    this.#output = {
      stdout: pump((chunk) => sinks.stdout(chunk)),
      stderr: pump((chunk) => sinks.stderr(chunk)),
    };
    this.#progress = new SinkPump<ProgressLine>({
      source: this.#lines,
      take: (line) => sinks.progress(line),
      taken: () => {},
    });
  }

  get started(): Promise<{ readonly pid: number }> {
    return this.#started.promise;
  }

  get exited(): Promise<GuestExit> {
    return this.#exited.promise;
  }

  onStarted(body: { readonly pid: number }): void {
    this.#started.resolve(body);
  }

  /** False where the other side sent more than it was allowed. */
  onOutput(stream: "stdout" | "stderr", data: Buffer): boolean {
    this.#underWay += data.length;
    if (this.#underWay + this.#owed > this.#options.window_bytes) return false;
    if (data.length > 0) this.#output[stream].push(data);
    return true;
  }

  onProgress(line: Buffer): void {
    const parsed = parseUntrustedJson(line);
    const checked = parsed.kind === "ok" ? progressLineSchema.safeParse(parsed.value) : null;
    if (checked?.success && this.#lines.length < PROGRESS_WAITING_MAX) this.#progress.push(checked.data);
    else this.#droppedLines += 1;
  }

  onStdinCredit(bytes: number): void {
    this.#stdinCredit = Math.min(this.#stdinCredit + bytes, STDIN_WINDOW_BYTES);
    this.#wake();
  }

  /** The report counts once the sinks have taken all that came before it. */
  onExited(exited: Exited): void {
    this.#hasExited = true;
    this.#finish();
    this.#started.reject(new Error("the command did not start"));
    void this.#settle(exited);
  }

  /** The agent would not take the command, or the link is lost. After a report of its end, that report counts. */
  fail(error: Error): void {
    if (this.#hasExited) return;
    this.#finish();
    for (const pump of [this.#output.stdout, this.#output.stderr, this.#progress]) pump.stop();
    this.#started.reject(error);
    this.#exited.reject(error);
  }

  /** Sends stdin as fast as the command takes it. What is left when the command ends is dropped. */
  async feed(stdin: Buffer): Promise<void> {
    const { writer } = this.#options;
    let at = 0;
    while (at < stdin.length && !this.#over) {
      if (this.#stdinCredit === 0) await this.#stdinRoom();
      await writer.ready();
      if (this.#over || writer.closed) return;
      const size = Math.min(stdin.length - at, this.#stdinCredit, 65_536);
      writer.data("stdin", this.id, stdin.subarray(at, at + size));
      this.#stdinCredit -= size;
      at += size;
    }
    if (!this.#over) writer.control("stdin_end", this.id);
  }

  #stdinRoom(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeStdin = resolve;
    });
  }

  #wake(): void {
    this.#wakeStdin?.();
    this.#wakeStdin = null;
  }

  #finish(): void {
    this.#over = true;
    this.#wake();
  }

  async #settle(exited: Exited): Promise<void> {
    const pumps = [this.#output.stdout, this.#output.stderr, this.#progress];
    await Promise.all(pumps.map((pump) => pump.idle()));
    const failure = pumps.map((pump) => pump.failure).find((found) => found !== null);
    if (failure) this.#exited.reject(failure.error);
    else this.#exited.resolve(guestExit(exited, this.#droppedLines));
  }

  /** Credit goes back in quarters of the window: the agent is never out of credit while all was taken. */
  #giveBack(bytes: number): void {
    this.#underWay -= bytes;
    this.#owed += bytes;
    if (this.#over || this.#owed < this.#options.window_bytes / 4) return;
    this.#options.writer.control("credit", this.id, { bytes: this.#owed });
    this.#owed = 0;
  }
}
