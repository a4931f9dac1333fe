import { once } from "node:events";
import type { Writable } from "node:stream";

/** Where a command's output goes. */
export interface Console {
  /** Bytes as they are, waiting while the reader is slow. A reader that has gone away ends nothing. */
  write(stream: "stdout" | "stderr", bytes: Uint8Array): Promise<void>;
  /** One line on standard output. */
  line(text: string): void;
  /** One line on standard error, marked as ours and not the task's. */
  note(text: string): void;
  /** True where standard error is a terminal. */
  readonly interactive: boolean;
  /** Rewrites the last line of the terminal on standard error. */
  status(text: string): void;
}

interface Streams {
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

const CLEAR_LINE = "\r\u001b[K";

/** One line without control characters, so that no text can move the cursor or forge another line. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
}

export function createConsole({ stdout, stderr }: Streams): Console {
  const gone = new Set<Writable>();
  for (const stream of [stdout, stderr]) stream.on("error", () => gone.add(stream));

  async function write(stream: Writable, bytes: Uint8Array | string): Promise<void> {
    if (gone.has(stream) || bytes.length === 0 || stream.write(bytes)) return;
    const controller = new AbortController();
    const { signal } = controller;
    await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]).catch(() => undefined);
    controller.abort();
  }

  return {
    write: (name, bytes) => write(name === "stdout" ? stdout : stderr, bytes),
    line: (text) => void write(stdout, `${text}\n`),
    note: (text) => void write(stderr, `holdfast: ${plain(text)}\n`),
    interactive: stderr.isTTY === true,
    status: (text) => void write(stderr, text === "" ? CLEAR_LINE : `${CLEAR_LINE}${plain(text)}`),
  };
}
