/** What a host tells of its images beside the digests that count: kept for those who look, of no effect. */
import { type HostView, type ImageNote, imageNoteSchema } from "@holdfast/contract";
import { type Reply, text } from "./replies.js";

export function noteText(note: ImageNote): string {
  return JSON.stringify(note);
}

/** Joins rows of (image, digest) and of (image, note). */
export function imagesOf(
  offers: readonly Reply[][],
  notes: readonly Reply[][],
): Pick<HostView, "images" | "refused_images"> {
  const noted = new Map(notes.map(([image, note]) => [text(image), imageNoteSchema.parse(JSON.parse(text(note)))]));
  const images = offers.map(([image, digest]) => {
    const holds = noted.get(text(image))?.holds;
    return { image: text(image), digest: text(digest), ...(holds === undefined ? {} : { holds }) };
  });
  const refused_images = [...noted].flatMap(([image, { refusal }]) => (refusal ? [{ image, ...refusal }] : []));
  const byName = (a: { image: string }, b: { image: string }): number => (a.image < b.image ? -1 : 1);
  return { images: images.toSorted(byName), refused_images: refused_images.toSorted(byName) };
}
