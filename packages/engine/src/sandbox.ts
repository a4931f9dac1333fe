/** A verified sandbox in use: what may be asked of it, what ends it, and its proven destruction. */
import { deadline, monotonicMs } from "@holdfast/chassis";
import { sandboxMemoryMb, TIMES } from "@holdfast/contract";
import { endOnlyContainer, endSandboxContainers } from "./container-removal.js";
import type { Creation } from "./creation.js";
import type { VerifiedContainer } from "./creation-try.js";
import { sandboxEnvironment } from "./default-environment.js";
import type { ContainerReceipt, Sandbox, SandboxSpec } from "./engine.js";
import type { EngineHost } from "./engine-host.js";
import type { KnownImage } from "./image-check.js";
import { watchSandbox } from "./sandbox-watch.js";

/** Process 1 ends at once when asked; what takes longer than this is killed. */
const ORDERED_END_MS = 250;

/** Asks process 1 to end, which ends all else in the sandbox and is quicker than a kill by the engine. */
async function orderEnd({ link, stream }: VerifiedContainer): Promise<{ ended: boolean; took_ms: number }> {
  const began = monotonicMs();
  // Read and thrown away, so that output under way does not hold the exit back.
  stream.discard();
  link.close();
  const ended = await deadline(
    stream.over.then(() => true),
    ORDERED_END_MS,
    () => false,
  );
  return { ended, took_ms: Math.round(monotonicMs() - began) };
}

function createDestroyer(host: EngineHost, sandboxId: string, creation: Creation, onFirst: () => void) {
  const { container, name } = creation;
  let underWay: Promise<ContainerReceipt> | null = null;

  async function attempt(): Promise<ContainerReceipt> {
    const { ended, took_ms } = await orderEnd(container);
    const known = { id: container.id, ended };
    const receipt = await host.removals.run(() =>
      creation.attempt === 1
        ? endOnlyContainer(host.connection, known)
        : endSandboxContainers(host.connection, sandboxId, known),
    );
    container.stream.stream.destroy();
    if (receipt.proven) host.in_hand.delete(name);
    else underWay = null;
    return { ...receipt, kill_ms: took_ms + (receipt.kill_ms ?? 0) };
  }

  return (): Promise<ContainerReceipt> => {
    onFirst();
    underWay ??= attempt();
    return underWay;
  };
}

export function openSandbox(host: EngineHost, wanted: SandboxSpec, image: KnownImage, creation: Creation): Sandbox {
  const { container } = creation;
  const { link } = container;
  const { cpu, disk_mb, pids_limit } = wanted.resources;
  const environment = sandboxEnvironment(image.environment, wanted.resources);
  const watch = watchSandbox(host.connection, container.id, link);

  return {
    sandbox_id: wanted.sandbox_id,
    image_digest: image.digest,
    runtime: wanted.runtime,
    limits: { cpu, memory_mb: sandboxMemoryMb(wanted.resources), disk_mb, pids_limit },
    created_ms: creation.took_ms,
    assign: (assignment) => link.assign(assignment),
    ping: () => link.ping(TIMES.pulse_suspect_ms),
    writeFile: (file) => link.writeFile(file),
    exec: (command, sinks) => link.exec({ ...command, env: { ...environment, ...command.env } }, sinks),
    killTree: () => link.killTree(),
    ended: watch.ended,
    destroy: createDestroyer(host, wanted.sandbox_id, creation, () => watch.end({ kind: "destroyed" })),
  };
}
