/** What an outcome keeps of one stream: the first and the last half, the true size and the digest of all of it. */
import { isUtf8 } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import { BOUNDS, type StreamOutput } from "@holdfast/contract";
import { incompleteTail } from "./utf8-edge.js";

export interface OutputKeep {
  take(chunk: Buffer): void;
  result(): StreamOutput;
}

const NOTHING = Buffer.alloc(0);

/** A buffer that grows by doubling up to `max`, so that a million small chunks cost no million objects. */
function growing(max: number) {
  let store = NOTHING;
  let used = 0;
  return {
    room: () => max - used,
    add(chunk: Buffer): void {
      if (used + chunk.length > store.length) {
        const larger = Buffer.allocUnsafe(Math.min(max, Math.max(4_096, store.length * 2, used + chunk.length)));
        store.copy(larger, 0, 0, used);
        store = larger;
      }
      used += chunk.copy(store, used);
    },
    bytes: () => store.subarray(0, used),
  };
}

/** The last `size` bytes of whatever passes. */
function ring(size: number) {
  let store: Buffer | null = null;
  let next = 0;
  let passed = 0;
  return {
    add(chunk: Buffer): void {
      store ??= Buffer.allocUnsafe(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      const first = kept.copy(store, next);
      if (first < kept.length) kept.copy(store, 0, first);
      next = (next + kept.length) % size;
      passed += chunk.length;
    },
    bytes(): Buffer {
      if (store === null || passed === 0) return NOTHING;
      if (passed < size) return store.subarray(0, passed);
      return Buffer.concat([store.subarray(next), store.subarray(0, next)]);
    },
  };
}

/** Bytes at the start that belong to a character begun before. */
function strayStart(bytes: Buffer): number {
  let stray = 0;
  while (stray < 3 && stray < bytes.length && ((bytes[stray] ?? 0) & 0xc0) === 0x80) stray += 1;
  return stray;
}

function render(kept: Buffer): Pick<StreamOutput, "text" | "encoding"> {
  if (isUtf8(kept)) return { text: kept.toString("utf8"), encoding: "utf8" };
  return { text: kept.toString("base64"), encoding: "base64" };
}

/** Cuts at whole characters where the halves are text, so that truncation alone never makes text binary. */
function joinHalves(head: Buffer, tail: Buffer, total: number): Buffer {
  const headText = head.subarray(0, head.length - incompleteTail(head));
  const tailText = tail.subarray(strayStart(tail));
  const bothText = isUtf8(headText) && isUtf8(tailText.subarray(0, tailText.length - incompleteTail(tailText)));
  const [first, last] = bothText ? [headText, tailText] : [head, tail];
  const left = total - first.length - last.length;
  return Buffer.concat([first, Buffer.from(`\n[truncated ${left} bytes]\n`), last]);
}

/** Digest of a stream of which nothing came; most streams of most tasks are that. */
const EMPTY_SHA256 = createHash("sha256").digest("hex");

export function createOutputKeep(bytes_max: number = BOUNDS.outcome_stream_bytes_max): OutputKeep {
  const half = Math.floor(bytes_max / 2);
  const head = growing(half);
  const tail = ring(half);
  let digest: Hash | null = null;
  let total = 0;
  return {
    take(chunk) {
      total += chunk.length;
      digest ??= createHash("sha256");
      digest.update(chunk);
      const fits = Math.min(head.room(), chunk.length);
      if (fits > 0) head.add(chunk.subarray(0, fits));
      if (fits < chunk.length) tail.add(chunk.subarray(fits));
    },
    result() {
      const truncated = total > half * 2;
      const kept = truncated
        ? joinHalves(head.bytes(), tail.bytes(), total)
        : Buffer.concat([head.bytes(), tail.bytes()]);
      return { ...render(kept), truncated, total_bytes: total, sha256: digest?.copy().digest("hex") ?? EMPTY_SHA256 };
    },
  };
}
