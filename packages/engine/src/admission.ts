/** Refuses what this engine can never start, before anything is created. */
import { type Resources, sandboxMemoryMb, type TaskError, taskError, tooSmall } from "@holdfast/contract";
import type { EngineFacts, SandboxSpec } from "./engine.js";

function tooLarge(resources: Resources, facts: EngineFacts): TaskError | null {
  if (resources.cpu > facts.cpus) {
    const message = `resources.cpu is ${resources.cpu}; this host has ${facts.cpus}.`;
    return taskError("RESOURCES_TOO_LARGE", { message, evidence: { field: "resources.cpu", maximum: facts.cpus } });
  }
  const memory_mb = sandboxMemoryMb(resources);
  if (memory_mb <= facts.memory_mb) return null;
  const message = `The sandbox needs ${memory_mb} MiB of memory with its disk; this host has ${facts.memory_mb} MiB.`;
  return taskError("RESOURCES_TOO_LARGE", { message, evidence: { memory_mb, maximum: facts.memory_mb } });
}

export function refusalOf(wanted: SandboxSpec, facts: EngineFacts, imageKnown: boolean): TaskError | null {
  if (!imageKnown) return taskError("IMAGE_NOT_ALLOWED", { evidence: { image: wanted.image } });
  if (!facts.runtimes.includes(wanted.runtime)) {
    const message = `This host has no runtime ${wanted.runtime}; it has ${facts.runtimes.join(", ")}.`;
    return taskError("CAPABILITY_ABSENT", { message, evidence: { runtime: wanted.runtime } });
  }
  return tooSmall(wanted.resources) ?? tooLarge(wanted.resources, facts);
}
