/** Images of a fleet by name: who offers each, what it holds, and why it is not offered elsewhere. */
import type { HostView, ImageHolds } from "@holdfast/contract";

/** What this machine's engine has of an image that its allow list names. */
export interface LocalImage {
  readonly image: string;
  /** The digests it is known under here, the one that counts first; empty where it cannot be offered. */
  readonly held: readonly string[];
  /** Why it could not be offered here; null where nothing speaks against it. */
  readonly refusal: string | null;
  /** True where the refusal is its absence. */
  readonly absent: boolean;
}

export interface Refusal {
  /** A host_id, or null for this machine's own look at its engine. */
  readonly host_id: string | null;
  readonly reason: string;
}

export interface ImageView {
  readonly image: string;
  readonly name: string;
  readonly version: string;
  readonly digest: string | null;
  readonly languages: readonly { readonly name: string; readonly version: string | null }[];
  readonly packages: ImageHolds;
  readonly hosts: readonly string[];
  readonly refused: readonly Refusal[];
}

export interface ImageHost extends Pick<HostView, "host_id" | "images" | "refused_images"> {
  readonly boots: readonly { readonly state: HostView["boots"][number]["state"] }[];
}

/** Programs that run code, by the name of what they run. */
const LANGUAGES: Readonly<Record<string, string>> = {
  bash: "bash",
  bun: "javascript",
  deno: "javascript",
  gcc: "c",
  go: "go",
  java: "java",
  julia: "julia",
  lua: "lua",
  node: "javascript",
  perl: "perl",
  php: "php",
  python: "python",
  python3: "python",
  R: "r",
  Rscript: "r",
  ruby: "ruby",
  rustc: "rust",
  sh: "sh",
};

/** What a program runs, where it is one that runs code. */
export function languageOf(program: string): string | undefined {
  return LANGUAGES[program.slice(program.lastIndexOf("/") + 1)];
}

function languagesIn(holds: ImageHolds): ImageView["languages"] {
  const found = new Map<string, string | null>();
  for (const [program, version] of Object.entries(holds.programs)) {
    const name = languageOf(program);
    if (name !== undefined) found.set(name, found.get(name) ?? version);
  }
  return [...found].map(([name, version]) => ({ name, version }));
}

/** `a/b:1` is name and tag, `a/b@sha256:..` name and digest. */
function partsOf(image: string): { name: string; version: string } {
  const [tagged = "", pin] = image.split("@");
  const colon = tagged.lastIndexOf(":");
  if (colon > tagged.lastIndexOf("/")) return { name: tagged.slice(0, colon), version: tagged.slice(colon + 1) };
  return { name: tagged, version: pin ?? "" };
}

const NOT_YET = "it is allowed here and not offered: restart the worker";

function refusalHere(local: LocalImage | undefined, offered: boolean): Refusal[] {
  if (local === undefined || offered) return [];
  return [{ host_id: null, reason: local.refusal ?? NOT_YET }];
}

/** Hosts without a living worker offer nothing. `local` is empty where there is no engine or list here. */
export function imageViews(hosts: readonly ImageHost[], local: readonly LocalImage[]): ImageView[] {
  const live = hosts.filter(({ boots }) => boots.some(({ state }) => state !== "DEAD"));
  const names = new Set(live.flatMap((host) => [...host.images, ...host.refused_images].map(({ image }) => image)));
  for (const { image } of local) names.add(image);
  return [...names].toSorted().map((image) => {
    const offers = live.flatMap(({ host_id, images }) =>
      images.filter((offer) => offer.image === image).map((offer) => ({ host_id, ...offer })),
    );
    const refused: Refusal[] = live.flatMap(({ host_id, refused_images }) =>
      refused_images.filter((refusal) => refusal.image === image).map(({ reason }) => ({ host_id, reason })),
    );
    const here = local.find((found) => found.image === image);
    const holds = offers.find((offer) => offer.holds !== undefined)?.holds ?? { programs: {}, imports: {} };
    return {
      ...{ image, ...partsOf(image), digest: offers[0]?.digest ?? here?.held[0] ?? null },
      ...{ languages: languagesIn(holds), packages: holds, hosts: offers.map(({ host_id }) => host_id) },
      refused: refused.length > 0 ? refused : refusalHere(here, offers.length > 0),
    };
  });
}
