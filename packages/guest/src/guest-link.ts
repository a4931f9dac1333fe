/**
 * What the trusted side may ask of the guest agent over one byte stream.
 * The link owns framing, command ids, credit and the permission to live; it knows nothing of Docker.
 */
import type { Duplex } from "node:stream";
import type { ErrorCode, Hello, TreeReceipt } from "@holdfast/contract";

export interface GuestLinkOptions {
  /** Milliseconds the agent may still live from now on; 0 grants nothing. Asked at each pulse. */
  permission(): number;
  /** Monotonic milliseconds. */
  now(): number;
  /** Output bytes a command may have under way before the reader has taken them. */
  output_window_bytes?: number;
}

export interface Assignment {
  /** Life of the sandbox from now on, in milliseconds; the agent ends itself afterwards. */
  readonly lifetime_ms: number;
}

export interface GuestFile {
  /** Relative to /workspace. Parents are made and belong to the sandbox's user. */
  readonly path: string;
  readonly mode: number;
  readonly content: Buffer;
}

export interface GuestExec {
  readonly argv: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly working_directory: string;
  readonly stdin: Buffer;
  readonly timeout_ms: number;
  /** `kill`: every other process of the sandbox is killed when the command ends, before `exited`. */
  readonly leftovers: "kill" | "keep";
}

/** Takes output in order. The next chunk is given only after the promise resolved; that is the back-pressure. */
export interface GuestSinks {
  stdout(chunk: Buffer): Promise<void> | void;
  stderr(chunk: Buffer): Promise<void> | void;
  /** One JSON object a line of descriptor 3, already parsed; malformed lines are counted and dropped. */
  progress(line: Record<string, unknown>): Promise<void> | void;
}

/** How a command ended, from waitpid and the sandbox's own control group: output text decides nothing. */
export interface GuestExit {
  /** 128+n where a signal ended it; null only where it never started. */
  readonly exit_code: number | null;
  /** Name such as `SIGKILL`. */
  readonly signal: string | null;
  /** The agent killed it at its time limit. */
  readonly timed_out: boolean;
  /** Why it could not be started: 126, 127 or a working directory that cannot be used. */
  readonly start_failure: { readonly code: ErrorCode; readonly errno: string } | null;
  readonly wall_ms: number;
  readonly cpu_ms: number;
  readonly memory_peak_bytes: number | null;
  /** Kills by the kernel's out-of-memory killer in this sandbox during the command; null where unreadable. */
  readonly oom_kills: number | null;
  /** Writable mounts with no free block or inode at the end. */
  readonly full_mounts: readonly string[];
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly progress_dropped: number;
  /** Present where leftovers were killed. */
  readonly tree: TreeReceipt | null;
}

export interface GuestCommand {
  readonly started: Promise<{ readonly pid: number }>;
  /** After all output was taken by the sinks. Rejects with LinkLost if the link ends first. */
  readonly exited: Promise<GuestExit>;
  signal(name: string): void;
}

export type GuestFileReply =
  | { readonly kind: "written" }
  | { readonly kind: "refused"; readonly errno: string; readonly path: string };

export type LinkEnd =
  /** The stream ended or failed. */
  | { readonly kind: "closed" }
  /** The agent said why it ends: `lifetime`, `permission`, `stdin_closed`, `ordered`. */
  | { readonly kind: "bye"; readonly reason: string }
  /** The other side broke the protocol; the sandbox is to be killed. */
  | { readonly kind: "protocol_error"; readonly message: string };

/** Rejection of every open question when the link ends. */
export class LinkLost extends Error {
  readonly end: LinkEnd;
  constructor(end: LinkEnd) {
    super(`the guest link ended: ${end.kind}`);
    this.name = "LinkLost";
    this.end = end;
  }
}

export interface GuestLink {
  /** The agent's first frame. Rejects with LinkLost, or after `deadline_ms`. */
  hello(deadline_ms: number): Promise<Hello>;
  assign(assignment: Assignment): Promise<void>;
  /** A question only a live agent answers. */
  ping(deadline_ms: number): Promise<void>;
  writeFile(file: GuestFile): Promise<GuestFileReply>;
  exec(command: GuestExec, sinks: GuestSinks): GuestCommand;
  /** Kills every process of the sandbox but the agent. */
  killTree(): Promise<TreeReceipt>;
  /** Monotonic milliseconds at which the last frame came. */
  lastHeard(): number;
  readonly ended: Promise<LinkEnd>;
  /** Ends the link; the agent ends itself on EOF. */
  close(): void;
}

export type OpenGuestLink = (stream: Duplex, options: GuestLinkOptions) => GuestLink;
