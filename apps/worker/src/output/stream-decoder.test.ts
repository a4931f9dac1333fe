import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createStreamDecoder } from "./stream-decoder.js";

function through(chunks: Buffer[]) {
  const decoder = createStreamDecoder();
  const pieces = [...chunks.map((chunk) => decoder.decode(chunk)), decoder.flush()].filter((piece) => piece !== null);
  const bytes = Buffer.concat(pieces.map(({ data, encoding }) => Buffer.from(data, encoding)));
  return { pieces, bytes };
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(from, from + size));
    from += size;
  }
  return [...chunks, bytes.subarray(from)];
}

const hasControls = (text: string): boolean => [...text].some((character) => character < " ");

const SIZES = fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 60 });

describe("stream decoder", () => {
  test("text cut anywhere stays text, without a replacement character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }).filter((text) => text.isWellFormed() && !hasControls(text)),
        SIZES,
        (text, sizes) => {
          const { pieces } = through(cut(Buffer.from(text), sizes));

          expect(pieces.every(({ encoding }) => encoding === "utf8")).toBe(true);
          expect(pieces.map(({ data }) => data).join("")).toBe(text);
        },
      ),
    );
  });

  test("any bytes cut anywhere come out as the same bytes, each piece with its true size", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), SIZES, (raw, sizes) => {
        const { bytes, pieces } = through(cut(Buffer.from(raw), sizes));

        expect(bytes.equals(Buffer.from(raw))).toBe(true);
        expect(pieces.reduce((sum, piece) => sum + piece.bytes, 0)).toBe(raw.length);
      }),
    );
  });

  test("a flood of control characters travels as base64, which is smaller than their JSON; a few do not", () => {
    expect(through([Buffer.alloc(1_000)]).pieces).toMatchObject([{ encoding: "base64", bytes: 1_000 }]);
    expect(through([Buffer.from("\u001b[1mcolours and plenty of text around them\u001b[0m\n")]).pieces).toMatchObject([
      { encoding: "utf8" },
    ]);
  });

  test("a byte order mark is output like any other", () => {
    expect(through([Buffer.from("\ufeffhi")]).pieces).toEqual([{ encoding: "utf8", data: "\ufeffhi", bytes: 5 }]);
  });
});
