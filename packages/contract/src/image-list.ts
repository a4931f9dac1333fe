/** The allow list of images: which references a host may offer, what each must be, and what it must hold. */
import { z } from "zod";

/** A name, with a registry perhaps, and always a tag or a digest. */
const REFERENCE =
  /^[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[0-9]+(?:\/[a-z0-9._-]+)+)?(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;

/** The tag of a reference, or null where it names none. */
function tagOf(reference: string): string | null {
  const [name = ""] = reference.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const colon = last.indexOf(":");
  return colon < 0 ? null : last.slice(colon + 1);
}

/** The registry digest that an entry with `pull` names, in either place; null where it names none. */
export function pinOf({ image, digest }: { readonly image: string; readonly digest: string | null }): string | null {
  return digest ?? image.split("@")[1] ?? null;
}

/** The repository of a reference, with its registry, without tag and digest. */
export function repositoryOf(reference: string): string {
  const [name = ""] = reference.split("@");
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

const referenceSchema = z
  .string()
  .max(512)
  .regex(REFERENCE, "must be an image reference such as python:3.12-slim")
  .refine((text) => tagOf(text) !== null || text.includes("@"), "must carry a tag or a digest")
  .refine((text) => tagOf(text) !== "latest", "must not be `latest`, which names no version");

/** A program is looked up in the image's PATH, or named by its absolute path. */
const programSchema = z.string().regex(/^\/?[A-Za-z0-9._+/-]{1,200}$/, "must be a program's name or absolute path");
const importSchema = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/, "must be a module name");

export const imageListSchema = z
  .strictObject({
    images: z
      .array(
        z
          .strictObject({
            image: referenceSchema,
            /** Pinned content; null takes what the engine holds under the reference. */
            digest: z
              .string()
              .regex(/^sha256:[0-9a-f]{64}$/, "must be sha256: and 64 hex digits")
              .nullable()
              .default(null),
            /** Its absence is no news: a host that lacks it does not warn. */
            optional: z.boolean().default(false),
            /** A worker that starts fetches it by its digest where the engine lacks it. */
            pull: z.boolean().default(false),
            /** Met by a real run in a sandbox before the image is offered. */
            requires: z
              .strictObject({
                programs: z.array(programSchema).max(64).default([]),
                /** Python modules, imported by `python3`. */
                imports: z.array(importSchema).max(64).default([]),
              })
              .prefault({}),
          })
          .refine(({ image, digest, pull }) => !pull || pinOf({ image, digest }) !== null, {
            path: ["pull"],
            message: "needs a digest: what is pulled is what is named by it, and not what a tag names today",
          }),
      )
      .min(1)
      .max(256),
  })
  .superRefine((list, context) => {
    const seen = new Set<string>();
    for (const [index, { image }] of list.images.entries()) {
      if (seen.has(image)) {
        context.addIssue({ code: "custom", path: ["images", index, "image"], message: "is listed twice" });
      }
      seen.add(image);
    }
  });
export type ImageList = z.infer<typeof imageListSchema>;
export type AllowedImage = ImageList["images"][number];

/** Parses the text of an allow list. Throws an Error that names the field at fault. */
export function parseImageList(text: string): ImageList {
  const parsed = imageListSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`the image list is not valid: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "unknown"}`);
}
