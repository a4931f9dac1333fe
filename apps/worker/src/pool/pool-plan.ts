/** What the operator wants to wait on this host, in the words of its engine. */
import { type ImageOffer, type Resources, resourcesSchema } from "@holdfast/contract";
import type { Engine, PoolKey } from "@holdfast/engine";
import type { WorkerConfig } from "../config.js";
import { parsePinnedKeys } from "./pinned-keys.js";
import type { PoolPlan } from "./wanted.js";

/** What a request runs under that names none. */
const RUNTIME = "runc";

/** The key of a sandbox; null where this engine does not offer the image. */
export function keyOf(
  images: readonly ImageOffer[],
  wanted: { readonly image: string; readonly resources: Resources; readonly runtime: string },
): PoolKey | null {
  const { image, resources, runtime } = wanted;
  const offer = images.find((each) => each.image === image);
  return offer === undefined ? null : { image, image_digest: offer.digest, resources, runtime };
}

type Wishes = Pick<WorkerConfig, "HOLDFAST_POOL" | "HOLDFAST_POOL_KEYS" | "HOLDFAST_IMAGE">;

export interface PlannedPool extends PoolPlan {
  /** Images that were asked for and are not offered here. */
  readonly absent: readonly string[];
}

export function planPool(config: Wishes, { images }: Pick<Engine, "images">): PlannedPool {
  const wishes = parsePinnedKeys(config.HOLDFAST_POOL_KEYS).keys.map((key) => ({ ...key, runtime: RUNTIME }));
  const normal = { image: config.HOLDFAST_IMAGE, resources: resourcesSchema.parse({}), runtime: RUNTIME };
  const open = keyOf(images, normal);
  const pinned = wishes.map((wish) => ({ wish, key: keyOf(images, wish) }));
  const isAbsent = open === null && config.HOLDFAST_POOL > 0;
  return {
    pinned: pinned.flatMap(({ key }) => key ?? []),
    open: open === null ? [] : Array.from({ length: config.HOLDFAST_POOL }, () => open),
    absent: [
      ...pinned.flatMap(({ wish, key }) => (key === null ? [wish.image] : [])),
      ...(isAbsent ? [normal.image] : []),
    ],
  };
}
