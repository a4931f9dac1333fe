/** Output that came and is not stored yet, in order of arrival, and how it is cut into bodies of events. */
import type { AppendBody, LogBody, StreamName } from "@holdfast/contract";
import { createStreamDecoder, type StreamDecoder } from "./stream-decoder.js";

type Entry =
  | { readonly kind: "bytes"; readonly stream: StreamName; readonly chunk: Buffer }
  | { readonly kind: "dropped"; readonly stream: StreamName; bytes: number }
  | { readonly kind: "progress"; readonly progress: Record<string, unknown> };

/** What an entry costs beyond its bytes: a flood of one-byte chunks is bounded too. */
const ENTRY_COST_BYTES = 128;
const BODIES_MAX = 64;
/** A piece as an event bears it at most; a batch has several where streams alternate. */
const BATCH_BYTES_MAX = 256 * 1_024;

export interface PendingOutput {
  add(stream: StreamName, chunk: Buffer): void;
  drop(stream: StreamName, bytes: number): void;
  progress(line: Record<string, unknown>): void;
  /** Bytes held, with what the entries cost. */
  size(): number;
  /** Removes the oldest entries, 256 KiB at most, as bodies to append. May be empty: a character not yet whole. */
  take(): AppendBody[];
  /** What the decoders held back: at the end of both streams. */
  takeRest(): AppendBody[];
  clear(): void;
}

type Decoders = Readonly<Record<StreamName, StreamDecoder>>;

function logBody(stream: StreamName, piece: Pick<LogBody, "encoding" | "data" | "bytes">): AppendBody {
  return { kind: "task_log", stream, ...piece, dropped_bytes: 0 };
}

/** Neighbours of one stream become one piece. */
function bodiesOf(entries: readonly Entry[], decoders: Decoders): AppendBody[] {
  const bodies: AppendBody[] = [];
  let run: { stream: StreamName; chunks: Buffer[] } | null = null;
  const endRun = (): void => {
    const piece = run && decoders[run.stream].decode(Buffer.concat(run.chunks));
    if (run && piece) bodies.push(logBody(run.stream, piece));
    run = null;
  };
  for (const entry of entries) {
    if (entry.kind === "bytes" && run?.stream === entry.stream) {
      run.chunks.push(entry.chunk);
      continue;
    }
    endRun();
    if (entry.kind === "bytes") run = { stream: entry.stream, chunks: [entry.chunk] };
    if (entry.kind === "progress") bodies.push({ kind: "task_progress", progress: entry.progress });
    if (entry.kind === "dropped") {
      const cutOff = decoders[entry.stream].flush();
      if (cutOff) bodies.push(logBody(entry.stream, cutOff));
      const empty = { encoding: "utf8", data: "", bytes: 0, dropped_bytes: entry.bytes } as const;
      bodies.push({ kind: "task_log", stream: entry.stream, ...empty });
    }
  }
  endRun();
  return bodies;
}

export function createPendingOutput(): PendingOutput {
  const decoders: Decoders = { stdout: createStreamDecoder(), stderr: createStreamDecoder() };
  let entries: Entry[] = [];
  let size = 0;

  function push(entry: Entry, bytes: number): void {
    entries.push(entry);
    size += bytes + ENTRY_COST_BYTES;
  }

  /** The entries of the next batch; a chunk larger than what is left of it is split. */
  function takeEntries(): Entry[] {
    const taken: Entry[] = [];
    let room = BATCH_BYTES_MAX;
    let turns = 0;
    let from = 0;
    for (; from < entries.length && room > 0 && turns < BODIES_MAX; from += 1) {
      const entry = entries[from];
      if (entry === undefined) break;
      const last = taken.at(-1);
      const joins = entry.kind === "bytes" && last?.kind === "bytes" && last.stream === entry.stream;
      if (!joins) turns += 1;
      if (entry.kind === "bytes" && entry.chunk.length > room) {
        taken.push({ ...entry, chunk: entry.chunk.subarray(0, room) });
        entries[from] = { ...entry, chunk: entry.chunk.subarray(room) };
        size -= room;
        break;
      }
      taken.push(entry);
      const bytes = entry.kind === "bytes" ? entry.chunk.length : 0;
      room -= bytes;
      size -= bytes + ENTRY_COST_BYTES;
    }
    entries = entries.slice(from);
    return taken;
  }

  return {
    add: (stream, chunk) => push({ kind: "bytes", stream, chunk }, chunk.length),
    drop: (stream, bytes) => {
      const last = entries.at(-1);
      if (last?.kind === "dropped" && last.stream === stream) last.bytes += bytes;
      else push({ kind: "dropped", stream, bytes }, 0);
    },
    progress: (progress) => push({ kind: "progress", progress }, 0),
    size: () => size,
    take: () => bodiesOf(takeEntries(), decoders),
    takeRest: () => {
      const rest = (["stdout", "stderr"] as const).map((stream) => ({ stream, piece: decoders[stream].flush() }));
      return rest.flatMap(({ stream, piece }) => (piece ? [logBody(stream, piece)] : []));
    },
    clear: () => {
      entries = [];
      size = 0;
    },
  };
}
