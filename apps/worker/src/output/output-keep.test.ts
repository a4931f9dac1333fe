import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOutputKeep } from "./output-keep.js";

function kept(bytes: Buffer, size: number, bytes_max: number) {
  const keep = createOutputKeep(bytes_max);
  for (let from = 0; from < bytes.length; from += size) keep.take(bytes.subarray(from, from + size));
  return keep.result();
}

describe("output keep", () => {
  test("a stream that fits is kept whole, whatever its chunks", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.integer({ min: 1, max: 70 }), (raw, size) => {
        const result = kept(Buffer.from(raw), size, 64);

        expect(Buffer.from(result.text ?? "", result.encoding).equals(Buffer.from(raw))).toBe(true);
        expect(result).toMatchObject({ truncated: false, total_bytes: raw.length });
      }),
    );
  });

  test("a longer one keeps head and tail around a marker with the number of bytes left out", () => {
    const result = kept(Buffer.from(`${"a".repeat(50)}${"b".repeat(1_000)}${"c".repeat(50)}`), 7, 100);

    expect(result.text).toBe(`${"a".repeat(50)}\n[truncated 1000 bytes]\n${"c".repeat(50)}`);
    expect(result).toMatchObject({ truncated: true, total_bytes: 1_100, encoding: "utf8" });
  });

  test("the digest is over every byte, also those not kept", () => {
    const bytes = Buffer.from("0123456789".repeat(100));

    expect(kept(bytes, 3, 16).sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
  });

  test("truncation cuts text at whole characters and counts what it cut", () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 90 }), fc.integer({ min: 1, max: 9 }), (length, size) => {
        const text = "日".repeat(length);
        const result = kept(Buffer.from(text), size, 32);

        expect(result.encoding).toBe("utf8");
        const found = /^(日*)\n\[truncated (\d+) bytes\]\n(日*)$/.exec(result.text ?? "");
        const shown = Buffer.byteLength(`${found?.[1]}${found?.[3]}`);
        expect(shown + Number(found?.[2])).toBe(length * 3);
      }),
    );
  });

  test("bytes that are not text come back as base64", () => {
    const bytes = Buffer.from([0, 255, 254, 1]);

    expect(kept(bytes, 2, 64)).toMatchObject({ encoding: "base64", text: bytes.toString("base64") });
  });
});
