/**
 * The worker's end of the link. The other end is a sandbox: whatever comes from there is understood or ends the link,
 * and never throws in the worker. Memory is bounded by the windows of the commands, not by what is sent.
 */
import type { Duplex } from "node:stream";
import type { Hello, TreeReceipt } from "@holdfast/contract";
import { type AgentFrame, readAgentFrame } from "./agent-frame.js";
import { signalNumber } from "./exit-report.js";
import { FrameWriter } from "./frame-writer.js";
import { type Frame, FrameReader, PREAMBLE, type WorkerFrameName } from "./frames.js";
import {
  type Assignment,
  type GuestCommand,
  type GuestExec,
  type GuestFile,
  type GuestFileReply,
  type GuestLink,
  type GuestLinkOptions,
  type GuestSinks,
  type LinkEnd,
  LinkLost,
  type OpenGuestLink,
} from "./guest-link.js";
import { type Answer, GuestRefused, LinkQuestions, within } from "./link-questions.js";
import { OpenCommand } from "./open-command.js";
import { sendExec, sendFile } from "./worker-frames.js";

const OUTPUT_WINDOW_BYTES = 1_048_576;
const OUTPUT_WINDOW_BYTES_MIN = 4096;

/** The agent's first frame answers it. */
const HELLO_ID = 0;

class StreamLink implements GuestLink {
  readonly ended: Promise<LinkEnd>;
  readonly #stream: Duplex;
  readonly #options: GuestLinkOptions;
  readonly #writer: FrameWriter;
  readonly #reader = new FrameReader();
  readonly #questions = new LinkQuestions();
  readonly #commands = new Map<number, OpenCommand>();
  readonly #hello: Promise<Answer<"hello">>;
  #end: LinkEnd | null = null;
  #resolveEnded: (end: LinkEnd) => void = () => {};
  #heard: number;
  #lastId = 0;
  #files: Promise<unknown> = Promise.resolve();

  constructor(stream: Duplex, options: GuestLinkOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#heard = options.now();
    this.#writer = new FrameWriter(stream);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#hello = this.#questions.ask(HELLO_ID, "hello");
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    for (const event of ["end", "close", "error"]) stream.on(event, () => this.#finish({ kind: "closed" }));
    this.#writer.raw(PREAMBLE);
  }

  async hello(deadline_ms: number): Promise<Hello> {
    return (await within(this.#hello, "hello", deadline_ms)).body;
  }

  async assign(assignment: Assignment): Promise<void> {
    await this.#ask("assign", "assigned", { lifetime_ms: Math.max(1, Math.floor(assignment.lifetime_ms)) });
  }

  async ping(deadline_ms: number): Promise<void> {
    await within(this.#ask("ping", "pong"), "ping", deadline_ms);
  }

  async killTree(): Promise<TreeReceipt> {
    return (await this.#ask("kill_tree", "tree")).body;
  }

  /** One file at a time: the agent takes no second one before the first is done. */
  writeFile(file: GuestFile): Promise<GuestFileReply> {
    const reply = this.#files.then(() => this.#writeFile(file));
    this.#files = reply.catch(() => {});
    return reply;
  }

  exec(command: GuestExec, sinks: GuestSinks): GuestCommand {
    const id = this.#nextId();
    const window_bytes = Math.max(OUTPUT_WINDOW_BYTES_MIN, this.#options.output_window_bytes ?? OUTPUT_WINDOW_BYTES);
    const open = new OpenCommand({ id, window_bytes, sinks, writer: this.#writer });
    if (this.#end) open.fail(new LinkLost(this.#end));
    else this.#start(open, command, window_bytes);
    const signal = (name: string) => {
      const number = signalNumber(name);
      if (number === null) throw new RangeError(`no such signal: ${name}`);
      this.#writer.control("signal", id, { signal: number });
    };
    return { started: open.started, exited: open.exited, signal };
  }

  lastHeard(): number {
    return this.#heard;
  }

  close(): void {
    if (this.#end) return;
    this.#writer.control("end", 0);
    this.#finish({ kind: "closed" });
  }

  #start(open: OpenCommand, command: GuestExec, window_bytes: number): void {
    this.#commands.set(open.id, open);
    sendExec(this.#writer, open.id, command, window_bytes);
    if (command.stdin.length > 0) void open.feed(command.stdin);
  }

  async #writeFile(file: GuestFile): Promise<GuestFileReply> {
    if (this.#end) throw new LinkLost(this.#end);
    const id = this.#nextId();
    const answer = this.#questions.ask(id, "file_done");
    this.#writer.control("file_begin", id, { path: file.path, mode: file.mode, size: file.content.length });
    await sendFile(this.#writer, id, file.content, () => this.#questions.has(id));
    try {
      await answer;
      return { kind: "written" };
    } catch (error) {
      if (error instanceof GuestRefused) return { kind: "refused", errno: error.errno, path: file.path };
      throw error;
    }
  }

  #nextId(): number {
    this.#lastId = (this.#lastId % 0xffff_fffe) + 1;
    return this.#lastId;
  }

  #ask<K extends Answer["kind"]>(name: WorkerFrameName, expects: K, body: object | null = null): Promise<Answer<K>> {
    if (this.#end) return Promise.reject(new LinkLost(this.#end));
    const id = this.#nextId();
    const answer = this.#questions.ask(id, expects);
    this.#writer.control(name, id, body);
    return answer;
  }

  #receive(chunk: Buffer): void {
    if (this.#end) return;
    const { frames, error } = this.#reader.push(chunk);
    if (frames.length > 0) this.#heard = this.#options.now();
    for (const frame of frames) {
      const problem = this.#act(frame);
      if (problem) this.#finish({ kind: "protocol_error", message: problem });
      if (this.#end) return;
    }
    if (error) this.#finish({ kind: "protocol_error", message: error });
  }

  /** What is wrong with the frame, or null. */
  #act(raw: Frame): string | null {
    const read = readAgentFrame(raw);
    if (read.kind === "refused") return read.error;
    const { frame } = read;
    if (this.#questions.has(HELLO_ID) && frame.kind !== "hello" && frame.kind !== "bye")
      return `${frame.kind} before hello`;
    switch (frame.kind) {
      case "pulse":
        this.#permit(frame.body.t0_ms);
        return null;
      case "bye":
        this.#finish({ kind: "bye", reason: frame.body.reason });
        return null;
      case "hello":
      case "assigned":
      case "pong":
      case "tree":
      case "file_done":
        return this.#questions.answer(frame) ? null : `${frame.kind} was not asked for`;
      case "failed":
        return this.#refuse(frame);
      default:
        return this.#actOnCommand(frame);
    }
  }

  /** Counted from the agent's question, so that the way here and back only shortens it. */
  #permit(t0_ms: number): void {
    const live_ms = Math.floor(this.#options.permission());
    if (live_ms > 0) this.#writer.permit({ t0_ms, live_ms });
  }

  #refuse({ id, body }: Extract<AgentFrame, { readonly kind: "failed" }>): string | null {
    const refused = new GuestRefused(body.errno, body.detail);
    const command = this.#commands.get(id);
    this.#commands.delete(id);
    command?.fail(refused);
    return command || this.#questions.refuse(id, refused) ? null : "failed was not asked for";
  }

  #actOnCommand(frame: Exclude<AgentFrame, Answer | { readonly kind: "pulse" | "bye" | "failed" }>): string | null {
    const command = this.#commands.get(frame.id);
    if (!command) return `${frame.kind} of no command`;
    switch (frame.kind) {
      case "started":
        command.onStarted(frame.body);
        return null;
      case "stdout":
      case "stderr":
        return command.onOutput(frame.kind, frame.data) ? null : "more output than credit";
      case "progress":
        command.onProgress(frame.data);
        return null;
      case "stdin_credit":
        command.onStdinCredit(frame.body.bytes);
        return null;
      case "exited":
        this.#commands.delete(frame.id);
        command.onExited(frame.body);
        return null;
    }
  }

  #finish(end: LinkEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#writer.close();
    const lost = new LinkLost(end);
    this.#questions.refuseAll(lost);
    for (const command of this.#commands.values()) command.fail(lost);
    this.#commands.clear();
    if (end.kind === "protocol_error") this.#stream.destroy();
    else this.#stream.end(() => this.#stream.destroy());
    this.#resolveEnded(end);
  }
}

/** Opens the link on a stream that carries the agent's stdin and stdout. It owns the stream from then on. */
export const openGuestLink: OpenGuestLink = (stream, options) => new StreamLink(stream, options);
