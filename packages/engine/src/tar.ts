/** The little of tar that carries one regular file to and from a container that never ran. */
const BLOCK = 512;

/** A USTAR archive of one file that belongs to root. */
export function tarOf(file: string, content: Buffer, mode: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, "0")}\0`;
  header.write(file, 0, 100, "ascii");
  header.write(octal(mode, 8), 100, "ascii");
  header.write(octal(0, 8), 108, "ascii");
  header.write(octal(0, 8), 116, "ascii");
  header.write(octal(content.length, 12), 124, "ascii");
  header.write(octal(0, 12), 136, "ascii");
  header.write("        ", 148, "ascii");
  header.write("0", 156, "ascii");
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "ascii");
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
  return Buffer.concat([header, content, padding, Buffer.alloc(2 * BLOCK)]);
}

/** Content of the first entry, or null where it is no regular file or not whole. */
export function firstFileOf(tar: Buffer): Buffer | null {
  const kind = String.fromCharCode(tar[156] ?? 255);
  const size = Number.parseInt(tar.subarray(124, 136).toString("ascii"), 8);
  if (tar.length < BLOCK || (kind !== "0" && kind !== "\0") || !Number.isSafeInteger(size)) return null;
  const content = tar.subarray(BLOCK, BLOCK + size);
  return content.length === size ? content : null;
}
