/** A verified sandbox in use: what may be asked of it, what ends it, and its proven destruction. */
import { sandboxMemoryMb, TIMES } from "@holdfast/contract";
import { endSandboxContainers } from "./container-removal.js";
import type { Creation } from "./creation.js";
import { sandboxEnvironment } from "./default-environment.js";
import type { ContainerReceipt, Sandbox, SandboxSpec } from "./engine.js";
import type { EngineHost } from "./engine-host.js";
import type { KnownImage } from "./image-check.js";
import { watchSandbox } from "./sandbox-watch.js";

function createDestroyer(host: EngineHost, sandboxId: string, creation: Creation, onFirst: () => void) {
  const { container, name } = creation;
  let underWay: Promise<ContainerReceipt> | null = null;

  async function attempt(): Promise<ContainerReceipt> {
    // Read and thrown away, so that output under way does not hold the exit back.
    container.stream.discard();
    const receipt = await host.removals.run(() => endSandboxContainers(host.connection, sandboxId, container.id));
    container.link.close();
    container.stream.stream.destroy();
    if (receipt.proven) host.in_hand.delete(name);
    else underWay = null;
    return receipt;
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
