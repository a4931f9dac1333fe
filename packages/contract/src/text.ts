/** Measures of text at the edge. */

export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

export function hasControlCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  return /[\u0000-\u001f\u007f]/.test(text);
}

/** Half of a surrogate pair: no Unicode, and without a form in UTF-8. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

export function hasNul(text: string): boolean {
  return text.includes("\0");
}

/** Decoded size of canonical base64, or null where it is not canonical. */
export function base64Length(text: string): number | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

/** The first `max` characters, cut on a code point, with an ellipsis where something was cut. */
export function clip(text: string, max: number): string {
  const points = Array.from(text);
  return points.length <= max ? text : `${points.slice(0, max - 1).join("")}…`;
}
