/** Which images a host may offer: allowed, present, pinned, without VOLUME. */
import { type AllowedImage, pinOf, repositoryOf, TIMES } from "@holdfast/contract";
import { parseImageEnvironment } from "./default-environment.js";
import { createEngineConnection, type EngineConnection } from "./engine-connection.js";
import { type JsonReader, reader } from "./json-reader.js";

export interface KnownImage {
  readonly image: string;
  /** The registry's digest where there is one, else the image id. */
  readonly digest: string;
  /** Content address in this engine: what containers are made from. */
  readonly id: string;
  readonly environment: Readonly<Record<string, string>>;
}

export type ImageLook =
  | { readonly kind: "known"; readonly image: KnownImage }
  | { readonly kind: "refused"; readonly reason: string; readonly absent: boolean };

/** Digests of the reference's own repository come first: an image may be known under several. */
function digestOf(reference: string, details: JsonReader, id: string): string {
  const digests = details.list("RepoDigests").map(({ raw }) => String(raw));
  const repository = repositoryOf(reference);
  const own = digests.find((digest) => digest.startsWith(`${repository}@`));
  return own?.split("@")[1] ?? id;
}

/** Judges the engine's account of an image against its entry in the allow list. */
export function judgeImage(allowed: AllowedImage, details: JsonReader): ImageLook {
  const id = details.text("Id");
  if (id === null || !/^sha256:[0-9a-f]{64}$/.test(id)) return refused("the engine does not tell its content");
  if (details.text("Os") !== "linux") return refused("it is not a Linux image");
  if (details.at("Config").at("Volumes").keys().length > 0) {
    return refused("it declares VOLUME, which would leave a volume behind for each run");
  }
  const digest = digestOf(allowed.image, details, id);
  if (allowed.digest !== null && allowed.digest !== digest && allowed.digest !== id) {
    return refused(`its digest is ${digest} and not the pinned ${allowed.digest}`);
  }
  const entries = details
    .at("Config")
    .list("Env")
    .map(({ raw }) => String(raw));
  return { kind: "known", image: { image: allowed.image, digest, id, environment: parseImageEnvironment(entries) } };
}

function refused(reason: string, absent = false): ImageLook {
  return { kind: "refused", reason, absent };
}

async function lookUp(connection: EngineConnection, allowed: AllowedImage, reference: string): Promise<ImageLook> {
  const reply = await connection.ask({
    method: "GET",
    path: `/images/${reference}/json`,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  if (reply.kind === "ok") return judgeImage(allowed, reader(reply.value));
  if (reply.failure.kind === "not_found") return refused("it is not in this engine", true);
  return refused("the engine could not be asked");
}

/** By its name; one that is pulled bears no tag here and is looked up by its digest too. */
export async function lookUpImage(connection: EngineConnection, allowed: AllowedImage): Promise<ImageLook> {
  const named = await lookUp(connection, allowed, allowed.image);
  const pin = pinOf(allowed);
  if (named.kind === "known" || !allowed.pull || pin === null) return named;
  return lookUp(connection, allowed, `${repositoryOf(allowed.image)}@${pin}`);
}

/** The same for each of `list`, in its order, of an engine that nobody has opened; null where none answers. */
export async function lookAtImages(
  socket_path: string,
  list: readonly AllowedImage[],
): Promise<readonly ImageLook[] | null> {
  const connection = createEngineConnection(socket_path);
  if (!(await connection.ping(TIMES.engine_ping_deadline_ms))) return null;
  return Promise.all(list.map((allowed) => lookUpImage(connection, allowed)));
}
