/** Redis as the proxy sees it: commands by name, scripts by the name their hash stands for. */
import { createHash } from "node:crypto";
import { bulkArguments, FrameCutter } from "./resp-frames.js";
import type { Conversation, Piece, Protocol, ReplyHead, RequestHead } from "./wire.js";

const ARGUMENTS_MAX = 64;
const ARGUMENT_BYTES_MAX = 4096;
const CHANNEL_KINDS: Readonly<Record<string, string>> = {
  SUBSCRIBE: "channel",
  PSUBSCRIBE: "pattern",
  SSUBSCRIBE: "shard",
  UNSUBSCRIBE: "channel",
  PUNSUBSCRIBE: "pattern",
  SUNSUBSCRIBE: "shard",
};
const MESSAGES = new Set(["message", "pmessage", "smessage"]);

/** Name of a script by the hash that EVALSHA sends; null where it is none of ours. */
export type ScriptNames = (sha: string) => string | null;

export function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

class RedisConversation implements Conversation {
  private readonly names: ScriptNames;
  private readonly sent = new FrameCutter();
  private readonly received = new FrameCutter();
  private readonly subscribed = new Map<string, Set<string>>();

  constructor(names: ScriptNames) {
    this.names = names;
  }

  requests(chunk: Buffer): Piece<RequestHead>[] {
    return this.sent.push(chunk).map((bytes) => ({ bytes, head: this.head(bytes), last: true, push: false }));
  }

  replies(chunk: Buffer): Piece<ReplyHead>[] {
    return this.received.push(chunk).map((bytes) => ({
      bytes,
      head: { status: bytes[0] === 0x2d ? (bytes.toString("latin1", 1, 64).split(/[ \r]/)[0] ?? "") : "ok" },
      last: true,
      push: this.isPush(bytes),
    }));
  }

  refused(): void {
    // A refused command leaves no trace on a connection.
  }

  private head(bytes: Buffer): RequestHead {
    const [command = "", ...args] = bulkArguments(bytes, ARGUMENTS_MAX, ARGUMENT_BYTES_MAX) ?? [];
    const name = command.toUpperCase();
    return { name, detail: this.script(name, args, bytes), args, replies: this.expected(name, args) };
  }

  private script(name: string, args: readonly string[], bytes: Buffer): string | null {
    if (name === "EVALSHA" || name === "EVALSHA_RO") return this.names((args[0] ?? "").toLowerCase());
    if (name !== "EVAL" && name !== "EVAL_RO") return null;
    const source = bulkArguments(bytes, 2, bytes.length)?.[1] ?? "";
    return this.names(sha1(source));
  }

  /** Each channel of a subscription is confirmed by a message of its own. */
  private expected(name: string, args: readonly string[]): number {
    const kind = CHANNEL_KINDS[name];
    if (kind === undefined) return 1;
    const channels = this.subscribed.get(kind) ?? new Set();
    this.subscribed.set(kind, channels);
    if (!name.includes("UNSUBSCRIBE")) {
      for (const channel of args) channels.add(channel);
      return args.length;
    }
    const left = args.length > 0 ? args : [...channels];
    const replies = Math.max(left.length, 1);
    for (const channel of left) channels.delete(channel);
    return replies;
  }

  private isPush(bytes: Buffer): boolean {
    const type = bytes[0];
    if (type !== 0x3e && (type !== 0x2a || this.subscribed.size === 0)) return false;
    const [kind = ""] = bulkArguments(bytes, 1, 32) ?? [];
    if (type === 0x3e) return !kind.endsWith("subscribe");
    return MESSAGES.has(kind);
  }
}

export function respProtocol(names: ScriptNames = () => null): Protocol {
  return {
    open: () => new RedisConversation(names),
    failure: (text) => Buffer.from(`-${text}\r\n`),
  };
}
