/** An open engine as the worker holds it. */
import { dirname } from "node:path";
import { HoldfastError, type ImageOffer, type RefusedImage, TIMES } from "@holdfast/contract";
import { readProver } from "@holdfast/guest";
import { refusalOf } from "./admission.js";
import { agentVolumeName } from "./container-name.js";
import { createVerified, failedCreation } from "./creation.js";
import { readWalls } from "./doctor/read-walls.js";
import { proofPlace, proveTogether } from "./doctor/self-check.js";
import { judgeWalls, type Wall } from "./doctor/walls.js";
import type { CreateReply, Engine, SandboxSpec } from "./engine.js";
import { readPlace } from "./engine-facts.js";
import type { EngineHost } from "./engine-host.js";
import { removeOldAgentVolumes } from "./estate.js";
import type { KnownImage } from "./image-check.js";
import { openSandbox } from "./sandbox.js";
import { inSetUpSandbox } from "./set-up-sandbox.js";
import { createSweeper } from "./sweep.js";

export function sandboxFactory(host: EngineHost, known: ReadonlyMap<string, KnownImage>) {
  return async (wanted: SandboxSpec): Promise<CreateReply> => {
    const image = known.get(wanted.image);
    const refusal = refusalOf(wanted, host.facts, image !== undefined);
    if (refusal !== null) return { kind: "failed", failure: failedCreation(refusal, false) };
    // refusalOf has told that the image is known; this line tells the compiler.
    if (image === undefined) throw new HoldfastError("IMAGE_NOT_ALLOWED");
    const reply = await createVerified(host, wanted, image);
    if (reply.kind === "failed") return reply;
    return { kind: "ready", sandbox: openSandbox(host, wanted, image, reply.creation) };
  };
}

async function runProbe(host: EngineHost, images: readonly ImageOffer[], create: Engine["create"]): Promise<void> {
  const place = { ...proofPlace({ facts: host.facts, images }), purpose: "probe" } as const;
  await inSetUpSandbox(create, place, async (sandbox) => {
    await sandbox.ping();
    await sandbox.killTree();
  });
}

async function wallsOf(host: EngineHost): Promise<Wall[]> {
  return judgeWalls(await readWalls(await readPlace(host.connection)));
}

async function runSelfCheck(host: EngineHost, images: readonly ImageOffer[], create: Engine["create"]) {
  const prover = await readProver(dirname(host.agent.path));
  const checks = await proveTogether({ facts: host.facts, images, create }, prover);
  const full = (await wallsOf(host)).map(({ check }) => check).filter(({ name }) => name === "disk_space");
  return [...checks, ...full];
}

export interface Offering {
  readonly known: ReadonlyMap<string, KnownImage>;
  readonly images: readonly ImageOffer[];
  readonly refused_images: readonly RefusedImage[];
  close(): void;
}

function ownVolume({ fleet_id, agent }: EngineHost) {
  return { fleet_id, volume: agentVolumeName(fleet_id, agent.sha256) };
}

export function engineOf(host: EngineHost, offering: Offering): Engine {
  const create = sandboxFactory(host, offering.known);
  const sweeper = createSweeper(host);
  return {
    facts: host.facts,
    host_id: host.host_id,
    fleet_id: host.fleet_id,
    boot_id: host.boot_id,
    images: offering.images,
    refused_images: offering.refused_images,
    ping: () => host.connection.ping(TIMES.engine_ping_deadline_ms),
    create,
    probe: () => runProbe(host, offering.images, create),
    selfCheck: () => runSelfCheck(host, offering.images, create),
    walls: () => wallsOf(host),
    sweep: (facts) => sweeper.sweep(facts),
    list: () => sweeper.list(),
    removeOldAgents: () => removeOldAgentVolumes(host.connection, ownVolume(host)),
    async close() {
      offering.close();
    },
  };
}
