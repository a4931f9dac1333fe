/** The engine's HTTP API as tests use it: beside our own client, so that a fault of ours cannot hide itself. */
import { type IncomingMessage, request } from "node:http";

export interface EngineReply {
  readonly status: number;
  /** Parsed JSON, or null where the body was empty. */
  readonly body: unknown;
}

function parse(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function read(reply: IncomingMessage): Promise<EngineReply> {
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  return { status: reply.statusCode ?? 0, body: parse(Buffer.concat(chunks).toString("utf8")) };
}

/** One call with a deadline in milliseconds. `body` is sent as JSON, beside `more` headers. */
export function engineCall(
  socket: string,
  method: string,
  path: string,
  body?: unknown,
  deadline_ms = 20_000,
  more: Readonly<Record<string, string>> = {},
): Promise<EngineReply> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = { ...more, ...(text === undefined ? {} : { "content-type": "application/json" }) };
  return new Promise((resolve, reject) => {
    const options = { socketPath: socket, method, path, headers, signal: AbortSignal.timeout(deadline_ms) };
    const call = request(options, (reply) => read(reply).then(resolve, reject));
    call.on("error", reject);
    call.end(text);
  });
}

/** As `engineCall`, but any status beyond 299 is an error that shows the engine's words. */
export async function engineAsk(socket: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const reply = await engineCall(socket, method, path, body);
  if (reply.status > 299) {
    throw new Error(`${method} ${path} was answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  }
  return reply.body;
}

/** Query part that selects by labels such as `holdfast.fleet=f1`. */
export function byLabels(...labels: readonly string[]): string {
  return `filters=${encodeURIComponent(JSON.stringify({ label: labels }))}`;
}
