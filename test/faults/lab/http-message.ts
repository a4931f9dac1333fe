/** Follows one HTTP/1.1 message through a stream of bytes: head, then a body by length, in chunks, or until the end. */

export type Body =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** Until the connection ends. */
  | { readonly kind: "endless" }
  /** So many bytes of body, then a raw stream unless the other side declines. */
  | { readonly kind: "hijack"; readonly bytes: number };

export interface MessageHead {
  readonly start: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

export function parseHead(text: string): MessageHead {
  const [start = "", ...lines] = text.split("\r\n");
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return { start, headers };
}

/** A body as the headers tell it; `absent` where they tell nothing. */
export function bodyOf(head: MessageHead, absent: Body): Body {
  if ((head.headers.get("transfer-encoding") ?? "").toLowerCase().includes("chunked")) return { kind: "chunked" };
  const length = head.headers.get("content-length");
  return length === undefined ? absent : { kind: "length", bytes: Number(length) };
}

export interface MessagePart {
  readonly bytes: Buffer;
  /** Set on the part that is a head. */
  readonly head: MessageHead | null;
  readonly last: boolean;
}

type State =
  | { readonly kind: "head" }
  | { readonly kind: "run"; left: number; readonly after: "head" | "chunk_size" | "endless" }
  | { readonly kind: "chunk_size" }
  | { readonly kind: "trailer" }
  | { readonly kind: "endless" };

/** Cuts a stream of messages. `body` is asked once for each head. */
export class MessageCutter {
  private readonly body: (head: MessageHead) => Body;
  private state: State = { kind: "head" };
  private held: Buffer = Buffer.alloc(0);

  constructor(body: (head: MessageHead) => Body) {
    this.body = body;
  }

  /** The raw stream that a hijack asked for was declined: messages go on. */
  declineHijack(): void {
    if (this.state.kind === "endless") this.state = { kind: "head" };
  }

  push(chunk: Buffer): MessagePart[] {
    let bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    const parts: MessagePart[] = [];
    while (bytes.length > 0) {
      const part = this.next(bytes);
      if (part === null) break;
      parts.push(part);
      bytes = bytes.subarray(part.bytes.length);
    }
    this.held = bytes;
    return parts;
  }

  private next(bytes: Buffer): MessagePart | null {
    const state = this.state;
    switch (state.kind) {
      case "head":
        return this.readHead(bytes);
      case "run":
        return this.readRun(bytes, state);
      case "chunk_size":
        return this.readLine(bytes, (line) => {
          const size = Number.parseInt(line, 16);
          this.state = size > 0 ? { kind: "run", left: size + 2, after: "chunk_size" } : { kind: "trailer" };
          return false;
        });
      case "trailer":
        return this.readLine(bytes, (line) => {
          if (line !== "") return false;
          this.state = { kind: "head" };
          return true;
        });
      case "endless":
        return { bytes, head: null, last: false };
    }
  }

  private readHead(bytes: Buffer): MessagePart | null {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) return null;
    const head = parseHead(bytes.toString("latin1", 0, end));
    const body = this.body(head);
    const bytesOfBody = body.kind === "length" || body.kind === "hijack" ? body.bytes : 0;
    const last = body.kind === "none" || (body.kind === "length" && bytesOfBody === 0);
    if (body.kind === "chunked") this.state = { kind: "chunk_size" };
    else if (bytesOfBody > 0)
      this.state = { kind: "run", left: bytesOfBody, after: body.kind === "hijack" ? "endless" : "head" };
    else if (body.kind === "endless" || body.kind === "hijack") this.state = { kind: "endless" };
    return { bytes: bytes.subarray(0, end + 4), head, last };
  }

  private readRun(bytes: Buffer, state: State & { kind: "run" }): MessagePart {
    const run = bytes.subarray(0, state.left);
    state.left -= run.length;
    if (state.left > 0) return { bytes: run, head: null, last: false };
    this.state = { kind: state.after };
    return { bytes: run, head: null, last: state.after === "head" };
  }

  private readLine(bytes: Buffer, take: (line: string) => boolean): MessagePart | null {
    const end = bytes.indexOf("\r\n");
    if (end < 0) return null;
    const last = take(bytes.toString("latin1", 0, end));
    return { bytes: bytes.subarray(0, end + 2), head: null, last };
  }
}
