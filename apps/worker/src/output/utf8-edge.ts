/** How many bytes at the end are the begun, not yet whole form of one UTF-8 character: 0 to 3. */
export function incompleteTail(bytes: Buffer): number {
  const length = bytes.length;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const wanted = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte < 0xf5 && wanted > back ? back : 0;
  }
  return 0;
}
