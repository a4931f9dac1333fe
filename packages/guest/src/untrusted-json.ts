/** JSON that comes out of a sandbox: bounded before it is parsed, and searched for what could harm who uses it. */

const DEPTH_MAX = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** True where brackets nest deeper than any frame of ours, without building anything. */
function nestsTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (inText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) {
      inText = true;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > DEPTH_MAX) return true;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    }
  }
  return false;
}

/** True for a key that reaches an object's prototype once it is merged, and for numbers JSON cannot write again. */
function isHarmful(root: unknown): boolean {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "number" && !Number.isFinite(value)) return true;
    if (value === null || typeof value !== "object") continue;
    if (!Array.isArray(value) && Object.hasOwn(value, "__proto__")) return true;
    for (const item of Object.values(value)) waiting.push(item);
  }
  return false;
}

export type UntrustedJson = { readonly kind: "ok"; readonly value: unknown } | { readonly kind: "refused" };

/** Parses UTF-8 JSON of unknown origin; the caller has bounded its length. */
export function parseUntrustedJson(bytes: Buffer): UntrustedJson {
  if (nestsTooDeep(bytes)) return { kind: "refused" };
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isHarmful(value) ? { kind: "refused" } : { kind: "ok", value };
  } catch {
    return { kind: "refused" };
  }
}
