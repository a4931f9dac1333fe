/** Kinds of warm sandboxes that an operator asks for: IMAGE:CPU:MEMORY. */
import { imageListSchema, RESOURCES_MIN, type Resources, resourcesSchema } from "@holdfast/contract";

/** A kind of sandbox as a person names it; what the image is on a host is looked up there. */
export interface PinnedKey {
  readonly image: string;
  readonly resources: Resources;
}

export type ParsedPinnedKey =
  | { readonly kind: "ok"; readonly key: PinnedKey }
  | { readonly kind: "refused"; readonly message: string };

const FORM = "give it as IMAGE:CPU:MEMORY, such as holdfast/python:3.11-1:0.5:512m";

const refused = (text: string, message: string): ParsedPinnedKey => ({
  kind: "refused",
  message: `${text}: ${message}`,
});

function mibOf(text: string): number | null {
  const match = /^(\d{1,9})(m|g)?$/i.exec(text);
  return match === null ? null : Number(match[1]) * (match[2]?.toLowerCase() === "g" ? 1_024 : 1);
}

/** A reference holds colons itself, so the parts are taken from the right. Disk and pids are those of a request. */
export function parsePinnedKey(text: string): ParsedPinnedKey {
  const parts = text.split(":");
  const [memory = "", cpu = ""] = [parts.pop(), parts.pop()];
  const image = parts.join(":");
  const memory_mb = mibOf(memory);
  if (image === "" || memory_mb === null || !/^\d{1,4}(\.\d{1,3})?$/.test(cpu)) return refused(text, FORM);
  const reference = imageListSchema.safeParse({ images: [{ image }] });
  if (!reference.success) return refused(text, `the image ${reference.error.issues[0]?.message}`);
  const resources = resourcesSchema.safeParse({ cpu: Number(cpu), memory_mb });
  if (!resources.success) return refused(text, `${resources.error.issues[0]?.path.join(".")} is out of bounds`);
  const low = (["cpu", "memory_mb"] as const).find((key) => resources.data[key] < RESOURCES_MIN[key]);
  if (low !== undefined) return refused(text, `${low} must be at least ${RESOURCES_MIN[low]}`);
  return { kind: "ok", key: { image, resources: resources.data } };
}

export interface ParsedPinnedKeys {
  readonly keys: readonly PinnedKey[];
  /** One for each that has not the form. */
  readonly refusals: readonly string[];
}

/** Parted by commas or blanks; the same one twice is two sandboxes. */
export function parsePinnedKeys(text: string): ParsedPinnedKeys {
  const parsed = text.split(/[\s,]+/).flatMap((each) => (each === "" ? [] : [parsePinnedKey(each)]));
  return {
    keys: parsed.flatMap((each) => (each.kind === "ok" ? [each.key] : [])),
    refusals: parsed.flatMap((each) => (each.kind === "refused" ? [each.message] : [])),
  };
}
