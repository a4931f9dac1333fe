import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAgentProgram } from "./agent-program.js";

async function inDirectory<T>(files: Record<string, string>, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-agent-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const digest = createHash("sha256").update("program").digest("hex");

describe("the agent's program", () => {
  it("is read with the hash of its bytes", async () => {
    const files = { "holdfast-agent": "program", "holdfast-agent.sha256": `${digest}\n` };
    const program = await inDirectory(files, readAgentProgram);
    expect([program.sha256, program.content.toString()]).toEqual([digest, "program"]);
  });

  it("is refused where it is not the one whose hash was recorded", async () => {
    const files = { "holdfast-agent": "programme", "holdfast-agent.sha256": `${digest}\n` };
    await expect(inDirectory(files, readAgentProgram)).rejects.toThrow("build it again");
  });

  it("is refused where it was not built", async () => {
    await expect(inDirectory({}, readAgentProgram)).rejects.toThrow("ENOENT");
  });
});
