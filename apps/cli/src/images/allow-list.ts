/** Changes the allow list of images as its owner would by hand: entries that are not named stay as they are. */
import { isDeepStrictEqual } from "node:util";
import { type AllowedImage, imageListSchema } from "@holdfast/contract";
import { CommandFault } from "../command-fault.js";

export interface WantedImage {
  readonly image: string;
  /** Null where none was named. */
  readonly digest: string | null;
  /** False leaves what is in the list. */
  readonly pull: boolean;
  /** Null where no option named any: what is in the list stays. */
  readonly programs: readonly string[] | null;
  readonly imports: readonly string[] | null;
}

export interface Allowing {
  readonly kind: "added" | "changed" | "same";
  /** As it is pinned now; null where it is not. */
  readonly digest: string | null;
  /** The whole list, to be written. */
  readonly list: { readonly images: readonly object[] };
}

type RawEntry = { readonly image: string } & Readonly<Record<string, unknown>>;

function checked(image: string, list: object): readonly AllowedImage[] {
  const parsed = imageListSchema.safeParse(list);
  if (parsed.success) return parsed.data.images;
  const [issue] = parsed.error.issues;
  const field = issue?.path.slice(2).join(".") ?? "";
  throw new CommandFault("usage", `${image}: ${field === "image" ? "" : `${field} `}${issue?.message}`);
}

/** A pin is changed by name only: a tag that has moved must not pass unseen. */
function pinOf(before: AllowedImage | undefined, wanted: WantedImage, held: readonly string[]): string | null {
  if (wanted.digest !== null) return wanted.digest;
  if (before === undefined) return held[0] ?? null;
  const [first] = held;
  if (before.digest !== null && first !== undefined && !held.includes(before.digest)) {
    const moved = `${wanted.image} is pinned to ${before.digest}, and this engine holds ${first}`;
    throw new CommandFault("usage", `${moved}: \`--digest ${first}\` allows that one instead`);
  }
  return before.digest;
}

/**
 * `list` is the parsed file, valid as it is; `held` are the digests under which the local engine has the image, best
 * first. Throws a CommandFault that says what is wrong with the wish.
 */
export function allowImage(list: { images: RawEntry[] }, wanted: WantedImage, held: readonly string[]): Allowing {
  const before = list.images.findIndex(({ image }) => image === wanted.image);
  const old = before < 0 ? undefined : checked(wanted.image, list)[before];
  const programs = wanted.programs ?? old?.requires.programs ?? [];
  const imports = wanted.imports ?? old?.requires.imports ?? [];
  const digest = pinOf(old, wanted, held);
  const requires = { programs, imports };
  const entry = {
    ...list.images[before],
    image: wanted.image,
    digest,
    ...(wanted.pull ? { pull: true } : {}),
    requires,
  };
  const images = before < 0 ? [...list.images, entry] : list.images.with(before, entry);
  checked(wanted.image, { images: [entry] });
  const now = checked(wanted.image, { images }).at(before < 0 ? -1 : before);
  const kind = old === undefined ? "added" : isDeepStrictEqual(old, now) ? "same" : "changed";
  return { kind, digest, list: { ...list, images } };
}
