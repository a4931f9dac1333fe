/**
 * What the proxy knows of a protocol: where a request begins and ends, its name, and which replies are its own.
 * Bytes pass unchanged; only their borders are found.
 */

/** What a rule can select a request by. */
export interface RequestHead {
  /** Redis: the command in capitals. Engine: the method. */
  readonly name: string;
  /** Redis: the script's name, or null. Engine: the path without version and query. */
  readonly detail: string | null;
  /** Redis: the arguments. Engine: path with query, alone. */
  readonly args: readonly string[];
  /** How many replies the request has before the next one's turn comes. */
  readonly replies: number;
}

export interface ReplyHead {
  /** Redis: `ok`, or the error's first word. Engine: the status code. */
  readonly status: string;
}

/** A run of bytes of one message. `head` is set on its first piece; `last` on its final one. */
export interface Piece<Head> {
  readonly bytes: Buffer;
  readonly head: Head | null;
  readonly last: boolean;
  /** Pushed by the server: no request waits for it. */
  readonly push: boolean;
}

export interface Conversation {
  requests(chunk: Buffer): Piece<RequestHead>[];
  /** `current` is the request whose reply is due. */
  replies(chunk: Buffer, current: () => RequestHead | null): Piece<ReplyHead>[];
  /** The proxy itself answered the request with a failure. */
  refused(): void;
}

export interface Protocol {
  open(): Conversation;
  /** The bytes of a reply that reports a failure. Engine: the text may begin with a status other than 500. */
  failure(text: string): Buffer;
}
