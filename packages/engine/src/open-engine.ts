/** Opens an engine: connects, learns what and which host it is, delivers the agent, checks images. */
import { readFile } from "node:fs/promises";
import {
  type AllowedImage,
  HoldfastError,
  type ImageOffer,
  parseImageList,
  type RefusedImage,
} from "@holdfast/contract";
import { openGuestLink, readAgentProgram } from "@holdfast/guest";
import { ensureAgentVolume } from "./agent-volume.js";
import type { Engine, EngineOptions } from "./engine.js";
import { createEngineConnection } from "./engine-connection.js";
import { readFacts, setUpRuntime } from "./engine-facts.js";
import type { EngineReply } from "./engine-failure.js";
import type { EngineHost } from "./engine-host.js";
import { identifyHost } from "./host-identity.js";
import { type ImageLook, type KnownImage, lookUpImage } from "./image-check.js";
import { type PullRight, pullImage } from "./image-pull.js";
import { checkByRun, type RunCheck } from "./image-run-check.js";
import { createLane, removalLane } from "./lane.js";
import { engineOf, sandboxFactory } from "./opened-engine.js";
import { readOwnNamespaces } from "./posture.js";
import { readSeccompProfile } from "./seccomp-profile.js";

/** Engines make the most containers a second with two to four under way. */
const CREATIONS_MAX = 3;

/** Outcomes of checks in this process: an image's content and the agent decide, so nothing makes one stale. */
const checked = new Map<string, Promise<RunCheck>>();

function need<T>(reply: EngineReply<T>, what: string): T {
  if (reply.kind === "ok") return reply.value;
  const message = `The engine could not be opened: ${what} (${reply.failure.kind}).`;
  throw new HoldfastError("ENGINE_UNAVAILABLE", { message, cause: new Error(reply.failure.detail) });
}

async function connect(options: EngineOptions, closing: AbortSignal): Promise<EngineHost> {
  const connection = createEngineConnection(options.socket_path);
  const facts = need(await readFacts(connection), "it does not tell its version");
  return {
    connection,
    facts,
    fleet_id: options.fleet_id,
    boot_id: options.boot_id,
    host_id: need(await identifyHost(connection, options.fleet_id), "its host volume cannot be read"),
    agent: await readAgentProgram(options.agent_directory),
    seccomp: readSeccompProfile(),
    own_namespaces: readOwnNamespaces(),
    open_link: openGuestLink,
    creations: createLane(options.creations_max ?? CREATIONS_MAX),
    removals: removalLane(options.removals_max),
    in_hand: new Set(),
    closing,
    notice: (notice) => options.onNotice?.(notice),
  };
}

interface Offers {
  readonly images: ImageOffer[];
  readonly refused: RefusedImage[];
}

interface Candidate {
  readonly allowed: AllowedImage;
  readonly image: KnownImage;
}

async function lookAt(host: EngineHost, allowed: AllowedImage, pull: PullRight | undefined): Promise<ImageLook> {
  const look = await lookUpImage(host.connection, allowed);
  if (look.kind === "known" || !look.absent || !allowed.pull || pull === undefined) return look;
  host.notice({ event: "image_pull", image: allowed.image });
  return pullImage(host.connection, allowed, pull);
}

async function lookUpAll(
  host: EngineHost,
  list: readonly AllowedImage[],
  pull: PullRight | undefined,
  offers: Offers,
): Promise<Candidate[]> {
  const looks = await Promise.all(list.map(async (allowed) => ({ allowed, look: await lookAt(host, allowed, pull) })));
  return looks.flatMap(({ allowed, look }) => {
    if (look.kind === "known") return [{ allowed, image: look.image }];
    offers.refused.push({ image: allowed.image, reason: look.reason, expected: look.absent && allowed.optional });
    return [];
  });
}

async function checkAll(host: EngineHost, candidates: readonly Candidate[], offers: Offers): Promise<void> {
  const runtime = setUpRuntime(host.facts);
  await Promise.all(
    candidates.map(async ({ allowed, image }) => {
      const key = JSON.stringify([image.id, host.agent.sha256, allowed.requires, runtime]);
      const create = sandboxFactory(host, new Map([[allowed.image, image]]));
      const check = checked.get(key) ?? checkByRun(allowed, runtime, create);
      checked.set(key, check);
      const found = await check;
      // Only a good answer is kept: a bad one may have been the engine's mood.
      if (found.kind === "refused") checked.delete(key);
      if (found.kind === "met") offers.images.push({ image: image.image, digest: image.digest, holds: found.holds });
      else offers.refused.push({ image: image.image, reason: found.reason, expected: false });
    }),
  );
}

/**
 * Rejects with HoldfastError ENGINE_UNAVAILABLE where the engine cannot be asked, with Error where the list of images
 * or the agent cannot be read. An image that is not offered is no failure: it is in `refused_images`.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const list = parseImageList(await readFile(options.images_file, "utf8"));
  const closing = new AbortController();
  const host = await connect(options, closing.signal);
  const offers: Offers = { images: [], refused: [] };
  const candidates = await lookUpAll(host, list.images, options.pull, offers);
  const [first] = candidates;
  if (first !== undefined && !(await ensureAgentVolume(host, first.image.id))) {
    throw new HoldfastError("ENGINE_UNAVAILABLE", { message: "The guest agent could not be put into the engine." });
  }
  await checkAll(host, candidates, offers);
  const byName = (a: { image: string }, b: { image: string }): number => (a.image < b.image ? -1 : 1);
  offers.images.sort(byName);
  offers.refused.sort(byName);
  const offered = new Set(offers.images.map(({ image }) => image));
  const known = candidates.filter(({ allowed }) => offered.has(allowed.image));
  return engineOf(host, {
    known: new Map(known.map(({ allowed, image }) => [allowed.image, image])),
    images: offers.images,
    refused_images: offers.refused,
    close: () => closing.abort(),
  });
}
