/**
 * Keeps the agent's program in a read-only named volume, one for each version of it. The volume is read and filled
 * through a container that is created and never started, so no user code ever meets the archive calls.
 */
import { createHash } from "node:crypto";
import { drawSandboxId, TIMES } from "@holdfast/contract";
import { AGENT_FILE_NAME } from "@holdfast/guest";
import { createContainer, getArchive, putArchive } from "./container-calls.js";
import { agentVolumeName, containerName, LABELS, labelsOf } from "./container-name.js";
import { endSandboxContainers, endUntilProven } from "./container-removal.js";
import { AGENT_DIRECTORY } from "./container-spec.js";
import type { EngineHost } from "./engine-host.js";
import { firstFileOf, tarOf } from "./tar.js";

const LIFETIME_SECONDS = 120;

function setUpSpec(host: EngineHost, imageId: string, sandboxId: ReturnType<typeof drawSandboxId>): object {
  const { fleet_id, host_id, boot_id } = host;
  const identity = { fleet_id, host_id, boot_id, sandbox_id: sandboxId, lifetime_seconds: LIFETIME_SECONDS };
  return {
    Image: imageId,
    Entrypoint: [`${AGENT_DIRECTORY}/${AGENT_FILE_NAME}`],
    Labels: labelsOf({ ...identity, purpose: "agent_fill" }),
    HostConfig: {
      NetworkMode: "none",
      LogConfig: { Type: "none" },
      Mounts: [
        {
          Type: "volume",
          Source: agentVolumeName(fleet_id, host.agent.sha256),
          Target: AGENT_DIRECTORY,
          VolumeOptions: { NoCopy: true, Labels: { [LABELS.fleet]: fleet_id } },
        },
      ],
    },
  };
}

async function isFilled(host: EngineHost, container: string): Promise<boolean> {
  const reply = await getArchive(host.connection, container, `${AGENT_DIRECTORY}/${AGENT_FILE_NAME}`);
  const content = reply.kind === "ok" ? firstFileOf(reply.value) : null;
  return content !== null && createHash("sha256").update(content).digest("hex") === host.agent.sha256;
}

async function fill(host: EngineHost, container: string): Promise<boolean> {
  if (await isFilled(host, container)) return true;
  const tar = tarOf(AGENT_FILE_NAME, host.agent.content, 0o555);
  const put = await putArchive(host.connection, container, AGENT_DIRECTORY, tar);
  if (put.kind === "failed") host.notice({ event: "agent_fill_failed", detail: put.failure.detail });
  return isFilled(host, container);
}

/** Makes sure that the volume is there and holds the whole program. False where the engine did not let us. */
export async function ensureAgentVolume(host: EngineHost, imageId: string): Promise<boolean> {
  const sandboxId = drawSandboxId();
  const name = containerName(host.boot_id, sandboxId, 1);
  host.in_hand.add(name);
  const created = await createContainer(host.connection, name, setUpSpec(host, imageId, sandboxId));
  if (created.kind === "failed") host.notice({ event: "agent_fill_failed", detail: created.failure.detail });
  const filled = created.kind === "ok" && (await fill(host, created.value.id));
  const bound = AbortSignal.any([host.closing, AbortSignal.timeout(TIMES.engine_remove_ms)]);
  const known = created.kind === "ok" ? { id: created.value.id, ended: true } : null;
  await endUntilProven(() => endSandboxContainers(host.connection, sandboxId, known), bound);
  host.in_hand.delete(name);
  return filled;
}
