/** The built guest agent: its file and the hash that is its identity in volumes and in hello. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const AGENT_FILE_NAME = "holdfast-agent";

export interface AgentProgram {
  readonly path: string;
  readonly content: Buffer;
  /** Hex sha-256 of the content. */
  readonly sha256: string;
}

/** Where `build.mjs` puts the agent. */
export function builtAgentDirectory(): string {
  return fileURLToPath(new URL("../build", import.meta.url));
}

/** Reads agent and hash from `directory`. Throws where one is missing or they do not belong together. */
export async function readAgentProgram(directory: string): Promise<AgentProgram> {
  const path = join(directory, AGENT_FILE_NAME);
  const content = await readFile(path);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const written = (await readFile(`${path}.sha256`, "utf8")).trim();
  if (written !== sha256) throw new Error("the guest agent's program and its recorded hash differ: build it again");
  return { path, content, sha256 };
}

/** The built prover, which runs against the limits of a sandbox. Throws where it is missing. */
export function readProver(directory: string): Promise<Buffer> {
  return readFile(join(directory, "holdfast-prover"));
}
