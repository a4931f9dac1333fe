const BLOCK_BYTES = 65_536;
/** A piece of this size is kept as it is, and so is one that finds the queue empty; others are copied together. */
const WHOLE_BYTES_MIN = 16_384;

interface Block {
  readonly bytes: Buffer;
  length: number;
}

/**
 * Bytes in order. Many small pieces take no more room than their bytes, so a bound on bytes bounds memory, also where a
 * program writes one byte at a time.
 */
export class ByteQueue {
  #blocks: Block[] = [];
  #first = 0;

  push(piece: Buffer): void {
    if (piece.length >= WHOLE_BYTES_MIN || this.#first === this.#blocks.length) {
      this.#blocks.push({ bytes: piece, length: piece.length });
      return;
    }
    let at = 0;
    while (at < piece.length) {
      const block = this.#openBlock();
      const copied = piece.copy(block.bytes, block.length, at);
      block.length += copied;
      at += copied;
    }
  }

  /** The next bytes, or null where there are none. */
  shift(): Buffer | null {
    const block = this.#blocks[this.#first];
    if (!block) return null;
    this.#first += 1;
    if (this.#first === this.#blocks.length || this.#first > 64) {
      this.#blocks = this.#blocks.slice(this.#first);
      this.#first = 0;
    }
    return block.bytes.subarray(0, block.length);
  }

  clear(): void {
    this.#blocks = [];
    this.#first = 0;
  }

  #openBlock(): Block {
    const last = this.#blocks.at(-1);
    if (last && last.length < last.bytes.length) return last;
    const block = { bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES), length: 0 };
    this.#blocks.push(block);
    return block;
  }
}
