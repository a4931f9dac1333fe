/** The guest agent as it was built, to be delivered into the engine. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentProgram } from "./engine-host.js";

const AGENT_FILE = "holdfast-agent";

/** Rejects with the file system's error where there is no built agent. */
export async function readAgentProgram(directory: string): Promise<AgentProgram> {
  const content = await readFile(join(directory, AGENT_FILE));
  return { file: AGENT_FILE, content, sha256: createHash("sha256").update(content).digest("hex") };
}
