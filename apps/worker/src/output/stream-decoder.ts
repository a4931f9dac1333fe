import { isUtf8 } from "node:buffer";
import type { LogBody } from "@holdfast/contract";
import { incompleteTail } from "./utf8-edge.js";

type Piece = Pick<LogBody, "encoding" | "data" | "bytes">;

/** Decodes one stream in pieces whose bytes, joined, are exactly the bytes that came in. */
export interface StreamDecoder {
  /** Null where all that came so far is a character not yet whole. */
  decode(chunk: Buffer): Piece | null;
  /** What was held back, at the end of the stream. */
  flush(): Piece | null;
}

/** JSON writes a control character in six bytes: where they abound, base64 is the smaller form. */
function escapesMuch(bytes: Buffer): boolean {
  let escaped = 0;
  for (const byte of bytes) if (byte < 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) escaped += 1;
  return escaped * 15 > bytes.length;
}

function pieceOf(bytes: Buffer): Piece | null {
  if (bytes.length === 0) return null;
  if (isUtf8(bytes) && !escapesMuch(bytes))
    return { encoding: "utf8", data: bytes.toString("utf8"), bytes: bytes.length };
  return { encoding: "base64", data: bytes.toString("base64"), bytes: bytes.length };
}

/** A character cut by a chunk's edge waits for its rest; a piece that is not text travels whole, as base64. */
export function createStreamDecoder(): StreamDecoder {
  let held: Buffer = Buffer.alloc(0);
  return {
    decode(chunk) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const cut = bytes.length - incompleteTail(bytes);
      held = Buffer.from(bytes.subarray(cut));
      return pieceOf(bytes.subarray(0, cut));
    },
    flush() {
      const rest = held;
      held = Buffer.alloc(0);
      return pieceOf(rest);
    },
  };
}
