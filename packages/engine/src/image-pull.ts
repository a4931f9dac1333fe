/**
 * Fetches an allowed image from its registry, by digest and never by tag. Whatever goes wrong, the image is not offered
 * and the reason is one of ours: the engine repeats what a registry says, and that may hold anything.
 */
import { pause } from "@holdfast/chassis";
import { type AllowedImage, pinOf, repositoryOf, TIMES } from "@holdfast/contract";
import type { EngineConnection } from "./engine-connection.js";
import type { EngineFailure } from "./engine-failure.js";
import { type ImageLook, lookUpImage } from "./image-check.js";
import { reader } from "./json-reader.js";
import { readCredentials, registryOf } from "./registry-credentials.js";

/** The right to pull, and with what. */
export interface PullRight {
  /** Path of a file in the form of Docker's config.json; null pulls without credentials. */
  readonly credentials_file: string | null;
  /** For one image, in milliseconds. */
  readonly deadline_ms?: number;
}

const UNREACHED = "its registry cannot be reached from the engine";
const UNEXPLAINED = "its registry did not give it";

const REASONS: readonly (readonly [RegExp, string])[] = [
  [
    /unauthorized|authentication required|no basic auth|denied|forbidden|\b40[13]\b/i,
    "its registry refuses our credentials",
  ],
  [/x509|certificate|HTTP response to HTTPS/i, "its registry has no TLS that the engine trusts"],
  [/not found|unknown|\b404\b/i, "its registry has nothing under that digest"],
  [/no such host|refused|unreachable|timeout|reset|\bEOF\b|no route/i, UNREACHED],
];

/** A registry that restarts must not cost a host its image until the worker's next start. */
const MAY_PASS: ReadonlySet<string> = new Set([UNREACHED, UNEXPLAINED]);
const TRIES = 2;
const RETRY_MS = 1_000;

/** One of a closed list of reasons for what engine and registry said. */
export function reasonIn(text: string): string {
  return REASONS.find(([words]) => words.test(text))?.[1] ?? UNEXPLAINED;
}

/** A pull that fails half-way is answered with success and an error among its lines of progress. */
export function errorIn(answer: unknown): string | null {
  const text = typeof answer === "string" || Buffer.isBuffer(answer) ? answer.toString() : JSON.stringify(answer);
  for (const line of text.split("\n").filter((each) => each.includes('"error'))) {
    try {
      const told = reader(JSON.parse(line));
      const error = told.at("errorDetail").text("message") ?? told.text("error");
      if (error !== null) return error;
    } catch {
      return line;
    }
  }
  return null;
}

function failureReason({ kind, detail }: EngineFailure, deadline_ms: number): string {
  if (kind === "deadline") return `its pull took longer than ${Math.round(deadline_ms / 1_000)} s`;
  if (kind === "unreachable" || kind === "dropped") return "the engine went away while it was pulled";
  return reasonIn(detail);
}

/** Null where the engine says that it has it now. */
async function fetchImage(
  connection: EngineConnection,
  allowed: AllowedImage,
  right: PullRight,
): Promise<string | null> {
  const registry = registryOf(allowed.image);
  const file = right.credentials_file;
  const found = file === null ? ({ kind: "read", auth: null } as const) : await readCredentials(file, registry);
  if (found.kind === "unusable") return found.reason;
  const deadline_ms = right.deadline_ms ?? TIMES.image_pull_ms;
  const reply = await connection.ask({
    method: "POST",
    path: "/images/create",
    query: { fromImage: repositoryOf(allowed.image), tag: pinOf(allowed) ?? "" },
    ...(found.auth === null ? {} : { registry_auth: found.auth }),
    deadline_ms,
    idempotent: true,
  });
  if (reply.kind === "failed") return failureReason(reply.failure, deadline_ms);
  const error = errorIn(reply.value);
  return error === null ? null : reasonIn(error);
}

/** What the engine has of it after a pull. */
export async function pullImage(
  connection: EngineConnection,
  allowed: AllowedImage,
  right: PullRight,
): Promise<ImageLook> {
  for (let tries = 1; ; tries += 1) {
    const reason = await fetchImage(connection, allowed, right);
    if (reason === null) return lookUpImage(connection, allowed);
    if (tries === TRIES || !MAY_PASS.has(reason)) return { kind: "refused", reason, absent: false };
    await pause(RETRY_MS);
  }
}
