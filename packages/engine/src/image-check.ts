/** Which images a host offers: allowed, present, pinned, without VOLUME, and holding what they must hold. */
import { type AllowedImage, drawSandboxId, type Resources, TIMES } from "@holdfast/contract";
import type { GuestSinks } from "@holdfast/guest";
import { parseImageEnvironment } from "./default-environment.js";
import type { CreateReply, Sandbox, SandboxSpec } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";
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
  | { readonly kind: "refused"; readonly reason: string };

const CHECK_RESOURCES: Resources = { cpu: 1, memory_mb: 256, disk_mb: 16, pids_limit: 64 };
const CHECK_LIFETIME_SECONDS = 300;
const PROGRAM_MS = 5_000;
const IMPORT_MS = 30_000;

/** The repository of a reference, without tag and digest. */
function repositoryOf(reference: string): string {
  const [name = ""] = reference.split("@");
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

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

function refused(reason: string): ImageLook {
  return { kind: "refused", reason };
}

export async function lookUpImage(connection: EngineConnection, allowed: AllowedImage): Promise<ImageLook> {
  const reply = await connection.ask({
    method: "GET",
    path: `/images/${allowed.image}/json`,
    deadline_ms: TIMES.engine_call_ms,
    idempotent: true,
  });
  if (reply.kind === "ok") return judgeImage(allowed, reader(reply.value));
  return refused(reply.failure.kind === "not_found" ? "it is not in this engine" : "the engine could not be asked");
}

const SILENT: GuestSinks = { stdout() {}, stderr() {}, progress() {} };

async function run(sandbox: Sandbox, argv: readonly string[], timeout_ms: number) {
  const { exited } = sandbox.exec(
    { argv, env: {}, working_directory: "/workspace", stdin: Buffer.alloc(0), timeout_ms, leftovers: "kill" },
    SILENT,
  );
  return exited;
}

/** What `allowed.requires` names and the sandbox does not have. A program passes by being started. */
async function missingIn(sandbox: Sandbox, { requires }: AllowedImage): Promise<string[]> {
  const missing: string[] = [];
  for (const program of requires.programs) {
    const exit = await run(sandbox, [program], PROGRAM_MS);
    if (exit.start_failure !== null) missing.push(`program ${program}`);
  }
  for (const name of requires.imports) {
    const exit = await run(sandbox, ["python3", "-c", `import ${name}`], IMPORT_MS);
    if (exit.exit_code !== 0) missing.push(`import ${name}`);
  }
  return missing;
}

/** Runs a sandbox of the image; null where it holds what it must, else why it is refused. */
export async function checkByRun(
  allowed: AllowedImage,
  runtime: string,
  create: (spec: SandboxSpec) => Promise<CreateReply>,
): Promise<string | null> {
  const lifetime_ms = CHECK_LIFETIME_SECONDS * 1000;
  const reply = await create({
    sandbox_id: drawSandboxId(),
    purpose: "image_check",
    image: allowed.image,
    resources: CHECK_RESOURCES,
    runtime,
    lifetime_seconds: CHECK_LIFETIME_SECONDS,
    permission: () => TIMES.boot_lease_ms,
  });
  if (reply.kind === "failed") return `no sandbox could be started from it (${reply.failure.error.code})`;
  try {
    await reply.sandbox.assign({ lifetime_ms });
    const missing = await missingIn(reply.sandbox, allowed);
    return missing.length === 0 ? null : `it lacks ${missing.join(", ")}`;
  } catch {
    return "its sandbox ended during the check";
  } finally {
    await reply.sandbox.destroy();
  }
}
