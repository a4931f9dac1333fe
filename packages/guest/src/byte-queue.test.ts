import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteQueue } from "./byte-queue.js";

describe("a byte queue", () => {
  it("gives back exactly what was put in, in order, whatever the pieces and turns", () => {
    const piece = fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.constant(new Uint8Array(20_000).fill(3)));
    const turns = fc.array(fc.oneof(piece, fc.constant(null)), { maxLength: 60 });
    fc.assert(
      fc.property(turns, (list) => {
        const queue = new ByteQueue();
        const put: Uint8Array[] = [];
        const got: Buffer[] = [];
        for (const turn of list) {
          if (turn) put.push(turn);
          if (turn) queue.push(Buffer.from(turn));
          else got.push(queue.shift() ?? Buffer.alloc(0));
        }
        for (let rest = queue.shift(); rest; rest = queue.shift()) got.push(rest);
        expect(Buffer.concat(got).equals(Buffer.concat(put))).toBe(true);
      }),
    );
  });

  it("keeps a million single bytes in little more than their bytes", () => {
    const queue = new ByteQueue();
    for (let count = 0; count < 1_000_000; count += 1) queue.push(Buffer.from([count & 255]));
    let blocks = 0;
    for (let block = queue.shift(); block; block = queue.shift()) blocks += 1;
    expect(blocks).toBeLessThan(20);
  });
});
