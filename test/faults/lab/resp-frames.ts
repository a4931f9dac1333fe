/** Finds the borders of RESP2 and RESP3 values in a stream of bytes. */

const CR = 13;
const AGGREGATES = new Set(["*", "~", ">", "%", "|"]);
const BULKS = new Set(["$", "!", "="]);

interface Line {
  readonly type: string;
  readonly text: string;
  readonly next: number;
}

function lineAt(bytes: Buffer, at: number): Line | null {
  const end = bytes.indexOf(CR, at);
  if (end < 0 || end + 1 >= bytes.length) return null;
  return { type: String.fromCharCode(bytes[at] ?? 0), text: bytes.toString("latin1", at + 1, end), next: end + 2 };
}

/** Offset behind the value that starts at `at`, or how many bytes must be there before it is worth another look. */
export type FrameEnd =
  | { readonly kind: "whole"; readonly end: number }
  | { readonly kind: "partial"; readonly bytes: number };

export function frameEnd(bytes: Buffer, start: number): FrameEnd {
  let at = start;
  for (let values = 1; values > 0; values -= 1) {
    const line = lineAt(bytes, at);
    if (line === null) return { kind: "partial", bytes: bytes.length + 1 };
    at = line.next;
    const size = Number(line.text);
    if (BULKS.has(line.type) && size >= 0) {
      at += size + 2;
      if (at > bytes.length) return { kind: "partial", bytes: at };
    } else if (AGGREGATES.has(line.type) && size > 0) {
      // An attribute stands before the value it describes, which is still to come.
      values += line.type === "%" ? 2 * size : line.type === "|" ? 2 * size + 1 : size;
    }
  }
  return { kind: "whole", end: at };
}

/** The first `max` elements of an array of bulk strings, each cut after `bytes_max` bytes. Null for another value. */
export function bulkArguments(frame: Buffer, max: number, bytes_max: number): string[] | null {
  const head = lineAt(frame, 0);
  if (head === null || (head.type !== "*" && head.type !== ">")) return null;
  const found: string[] = [];
  let at = head.next;
  while (found.length < Math.min(Number(head.text), max)) {
    const line = lineAt(frame, at);
    if (line === null || !BULKS.has(line.type)) return found;
    const size = Number(line.text);
    found.push(frame.toString("utf8", line.next, line.next + Math.min(size, bytes_max)));
    at = line.next + size + 2;
  }
  return found;
}

/** Cuts a stream into whole values. Half a value is kept until the rest comes. */
export class FrameCutter {
  private held: Buffer[] = [];
  private heldBytes = 0;
  private wanted = 1;

  push(chunk: Buffer): Buffer[] {
    this.held.push(chunk);
    this.heldBytes += chunk.length;
    if (this.heldBytes < this.wanted) return [];
    const bytes = this.held.length === 1 ? chunk : Buffer.concat(this.held);
    const frames: Buffer[] = [];
    let at = 0;
    this.wanted = 1;
    while (at < bytes.length) {
      const found = frameEnd(bytes, at);
      if (found.kind === "partial") {
        this.wanted = found.bytes - at;
        break;
      }
      frames.push(bytes.subarray(at, found.end));
      at = found.end;
    }
    const rest = bytes.subarray(at);
    this.held = rest.length > 0 ? [rest] : [];
    this.heldBytes = rest.length;
    return frames;
  }
}
