/** Whether an image holds what its entry in the allow list names, found by a real run; and at which versions. */
import { type AllowedImage, drawSandboxId, type ImageHolds, type Resources, TIMES } from "@holdfast/contract";
import type { CreateReply, Sandbox, SandboxSpec } from "./engine.js";

export type RunCheck =
  | { readonly kind: "met"; readonly holds: ImageHolds }
  | { readonly kind: "refused"; readonly reason: string };

const CHECK_RESOURCES: Resources = { cpu: 1, memory_mb: 256, disk_mb: 16, pids_limit: 64 };
const CHECK_LIFETIME_SECONDS = 300;
const PROGRAM_MS = 5_000;
const IMPORT_MS = 30_000;
const OUTPUT_BYTES_MAX = 4_096;
const VERSION_CHARACTERS_MAX = 64;

/** Modules of the standard library have no version of their own. */
const IMPORT = `
import importlib, sys
name = sys.argv[1]
module = importlib.import_module(name)
if name.split(".")[0] not in getattr(sys, "stdlib_module_names", ()):
    print(getattr(module, "__version__", ""))
`;

async function run(sandbox: Sandbox, argv: readonly string[], timeout_ms: number) {
  let text = "";
  const stdout = (chunk: Buffer): void => {
    if (text.length < OUTPUT_BYTES_MAX) text += chunk.toString("latin1");
  };
  const { exited } = sandbox.exec(
    { argv, env: {}, working_directory: "/workspace", stdin: Buffer.alloc(0), timeout_ms, leftovers: "kill" },
    { stdout, stderr() {}, progress() {} },
  );
  return { exit: await exited, text };
}

/** The first thing in a line of a program's own that reads like a version; it is shown and decides nothing. */
export function versionIn(text: string): string | null {
  const [line = ""] = text.split("\n");
  const found = /(?:^|[^0-9A-Za-z.])v?([0-9]+(?:\.[0-9]+)+[0-9A-Za-z.+~-]*)/.exec(line);
  return found?.[1]?.slice(0, VERSION_CHARACTERS_MAX) ?? null;
}

/** What `requires` names, with versions, and what of it is missing. A program passes by being started. */
async function lookInside(sandbox: Sandbox, { requires }: AllowedImage) {
  const holds: ImageHolds = { programs: {}, imports: {} };
  const missing: string[] = [];
  for (const program of requires.programs) {
    const { exit, text } = await run(sandbox, [program, "--version"], PROGRAM_MS);
    if (exit.start_failure !== null) missing.push(`program ${program}`);
    else holds.programs[program] = exit.exit_code === 0 ? versionIn(text) : null;
  }
  for (const name of requires.imports) {
    const { exit, text } = await run(sandbox, ["python3", "-c", IMPORT, name], IMPORT_MS);
    if (exit.exit_code !== 0) missing.push(`import ${name}`);
    else holds.imports[name] = versionIn(text);
  }
  return { holds, missing };
}

/** Runs a sandbox of the image. */
export async function checkByRun(
  allowed: AllowedImage,
  runtime: string,
  create: (spec: SandboxSpec) => Promise<CreateReply>,
): Promise<RunCheck> {
  const lifetime_ms = CHECK_LIFETIME_SECONDS * 1000;
  const refused = (reason: string): RunCheck => ({ kind: "refused", reason });
  const reply = await create({
    sandbox_id: drawSandboxId(),
    purpose: "image_check",
    image: allowed.image,
    resources: CHECK_RESOURCES,
    runtime,
    lifetime_seconds: CHECK_LIFETIME_SECONDS,
    permission: () => TIMES.boot_lease_ms,
  });
  if (reply.kind === "failed") return refused(`no sandbox could be started from it (${reply.failure.error.code})`);
  try {
    await reply.sandbox.assign({ lifetime_ms });
    const { holds, missing } = await lookInside(reply.sandbox, allowed);
    return missing.length === 0 ? { kind: "met", holds } : refused(`it lacks ${missing.join(", ")}`);
  } catch {
    return refused("its sandbox ended during the check");
  } finally {
    await reply.sandbox.destroy();
  }
}
