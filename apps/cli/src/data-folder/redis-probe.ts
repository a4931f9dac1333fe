import { connect } from "node:net";
import type { RedisAddress } from "./redis-config.js";

export type ProbeReply =
  /** Answers, and knows our password. */
  | { readonly kind: "ready" }
  /** Ours, and still reading its data. */
  | { readonly kind: "loading" }
  /** Something answers there, but not as our server. */
  | { readonly kind: "foreign" }
  | { readonly kind: "away" };

const DEADLINE_MS = 2_000;
const REPLY_BYTES_MAX = 512;

function judge(reply: string): ProbeReply | null {
  if (/^\+OK\r\n\+PONG\r\n/.test(reply)) return { kind: "ready" };
  if (/^\+OK\r\n-LOADING /.test(reply)) return { kind: "loading" };
  const started = "+OK\r\n".startsWith(reply) || /^\+OK\r\n(|[+-][^\n]*)$/.test(reply);
  return started && reply.length < REPLY_BYTES_MAX ? null : { kind: "foreign" };
}

/** Logs in and asks for a PONG: whoever accepts a drawn 256-bit password is the server that was given it. */
export function probeRedis(address: RedisAddress): Promise<ProbeReply> {
  return new Promise((resolve) => {
    let reply = "";
    const socket = connect({ host: "127.0.0.1", port: address.port });
    const end = (answer: ProbeReply): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(DEADLINE_MS, () => end({ kind: "away" }));
    socket.on("error", () => end({ kind: "away" }));
    socket.on("close", () => end({ kind: "away" }));
    socket.on("connect", () => socket.write(`AUTH ${address.password}\r\nPING\r\n`));
    socket.on("data", (chunk: Buffer) => {
      reply += chunk.toString("latin1");
      const answer = judge(reply);
      if (answer !== null) end(answer);
    });
  });
}
