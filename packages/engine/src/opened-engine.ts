/** An open engine as the worker holds it. */
import { drawSandboxId, HoldfastError, type ImageOffer, TIMES } from "@holdfast/contract";
import { refusalOf } from "./admission.js";
import { createVerified, failedCreation } from "./creation.js";
import type { CreateReply, Engine, Sandbox, SandboxSpec } from "./engine.js";
import { setUpRuntime } from "./engine-facts.js";
import type { EngineHost } from "./engine-host.js";
import type { KnownImage } from "./image-check.js";
import { openSandbox } from "./sandbox.js";
import { createSweeper } from "./sweep.js";

const PROBE_RESOURCES = { cpu: 0.5, memory_mb: 64, disk_mb: 16, pids_limit: 16 };
const PROBE_LIFETIME_SECONDS = 120;

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

async function runProbe(host: EngineHost, image: ImageOffer | undefined, create: Engine["create"]): Promise<void> {
  if (image === undefined) {
    throw new HoldfastError("ENGINE_UNAVAILABLE", { message: "This host offers no image to start a sandbox from." });
  }
  const reply = await create({
    sandbox_id: drawSandboxId(),
    purpose: "probe",
    image: image.image,
    resources: PROBE_RESOURCES,
    runtime: setUpRuntime(host.facts),
    lifetime_seconds: PROBE_LIFETIME_SECONDS,
    permission: () => TIMES.boot_lease_ms,
  });
  if (reply.kind === "failed") {
    const { code, message, evidence } = reply.failure.error;
    throw new HoldfastError(code, { message, evidence });
  }
  const answered = await askAll(reply.sandbox).catch((error: unknown) => error);
  const { proven } = await reply.sandbox.destroy();
  if (!proven) throw new HoldfastError("ENGINE_UNAVAILABLE", { message: "A sandbox could not be removed." });
  if (answered !== undefined) throw new HoldfastError("SANDBOX_LOST", { cause: answered });
}

async function askAll(sandbox: Sandbox): Promise<undefined> {
  await sandbox.assign({ lifetime_ms: PROBE_LIFETIME_SECONDS * 1000 });
  await sandbox.ping();
  await sandbox.killTree();
}

export interface Offering {
  readonly known: ReadonlyMap<string, KnownImage>;
  readonly images: readonly ImageOffer[];
  readonly refused_images: readonly { image: string; reason: string }[];
  close(): void;
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
    probe: () => runProbe(host, offering.images[0], create),
    sweep: (facts) => sweeper.sweep(facts),
    list: () => sweeper.list(),
    async close() {
      offering.close();
    },
  };
}
