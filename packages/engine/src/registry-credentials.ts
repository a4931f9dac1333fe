/** Credentials for registries, from a file in the form of Docker's config.json. Their text is in no message. */
import { readFile, stat } from "node:fs/promises";
import { type JsonReader, reader } from "./json-reader.js";

/** As the engine takes it with a pull. */
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
  readonly serveraddress: string;
}

export type CredentialsReply =
  /** `auth` is null where the file names no such registry. */
  | { readonly kind: "read"; readonly auth: RegistryAuth | null }
  | { readonly kind: "unusable"; readonly reason: string };

const FOR_OTHERS = 0o007;
/** The engine's own default, which goes by several host names. */
const HUB = "docker.io";

/** The registry that a reference names, `docker.io` where it names none. */
export function registryOf(reference: string): string {
  const [first = "", ...rest] = reference.split("/");
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? first : HUB;
}

/** Keys of `auths` may be whole addresses. */
function hostOf(key: string): string {
  const host = key.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return host.endsWith(`.${HUB}`) ? HUB : host;
}

function authOf(entry: JsonReader, serveraddress: string): RegistryAuth | null {
  const identitytoken = entry.text("identitytoken");
  if (identitytoken) return { identitytoken, serveraddress };
  const [username, password] = [entry.text("username"), entry.text("password")];
  if (username !== null && password !== null) return { username, password, serveraddress };
  const pair = Buffer.from(entry.text("auth") ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 1) return null;
  return { username: pair.slice(0, colon), password: pair.slice(colon + 1), serveraddress };
}

export function parseCredentials(text: string, registry: string): CredentialsReply {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return { kind: "unusable", reason: "the file of registry credentials is no JSON" };
  }
  const auths = reader(file).at("auths");
  const key = auths.keys().find((name) => hostOf(name) === registry);
  if (key === undefined) return { kind: "read", auth: null };
  const auth = authOf(auths.at(key), registry);
  if (auth !== null) return { kind: "read", auth };
  return { kind: "unusable", reason: "its registry's entry in the file of credentials has none that can be used" };
}

/** Reads the file anew each time: whoever changes it restarts nothing but the worker. */
export async function readCredentials(file: string, registry: string): Promise<CredentialsReply> {
  try {
    const { mode } = await stat(file);
    if ((mode & FOR_OTHERS) !== 0) {
      return { kind: "unusable", reason: "the file of registry credentials is open to everyone: chmod 600 it" };
    }
    return parseCredentials(await readFile(file, "utf8"), registry);
  } catch {
    return { kind: "unusable", reason: "the file of registry credentials cannot be read" };
  }
}
