/**
 * Makes a verified sandbox, or tells why not. Each try has a name of its own; whatever a failed try left is removed
 * before the next, and what could not be removed yet stays the creator's until it is proven gone (E1, E3).
 */
import { randomInt } from "node:crypto";
import { monotonicMs, pause } from "@holdfast/chassis";
import type { TaskError } from "@holdfast/contract";
import { AGENT_FILE_NAME } from "@holdfast/guest";
import { ensureAgentVolume } from "./agent-volume.js";
import { agentVolumeName, containerName } from "./container-name.js";
import { endSandboxContainers, endUntilProven } from "./container-removal.js";
import { buildContainerSpec, type ContainerSpec, UID_MAX, UID_MIN } from "./container-spec.js";
import { detailOf, errorOf, mayTryAgain, type TryFailure } from "./creation-failure.js";
import { type TryReply, tryCreation, type VerifiedContainer } from "./creation-try.js";
import type { ContainerReceipt, CreationFailure, SandboxSpec } from "./engine.js";
import type { EngineHost } from "./engine-host.js";
import type { KnownImage } from "./image-check.js";

const TRIES_MAX = 3;
const BACK_OFF_MS = [250, 1_000];

export interface Creation {
  readonly container: VerifiedContainer;
  readonly name: string;
  readonly spec: ContainerSpec;
  readonly uid: number;
  /** Which try it came from, counted from 1: those before may have left containers of theirs. */
  readonly attempt: number;
  /** From the first call to the verified posture, in milliseconds. */
  readonly took_ms: number;
}

export type CreationReply =
  | { readonly kind: "created"; readonly creation: Creation }
  | { readonly kind: "failed"; readonly failure: CreationFailure };

interface Draft {
  readonly name: string;
  readonly uid: number;
  readonly spec: ContainerSpec;
}

function draft(host: EngineHost, wanted: SandboxSpec, image: KnownImage, attempt: number): Draft {
  const uid = randomInt(UID_MIN, UID_MAX);
  const { sandbox_id, lifetime_seconds, purpose } = wanted;
  const { fleet_id, host_id, boot_id } = host;
  const spec = buildContainerSpec({
    identity: { fleet_id, host_id, boot_id, sandbox_id, lifetime_seconds, purpose },
    image_id: image.id,
    image_environment: image.environment,
    resources: wanted.resources,
    runtime: wanted.runtime,
    uid,
    agent_volume: agentVolumeName(fleet_id, host.agent.sha256),
    agent_file: AGENT_FILE_NAME,
    agent_arguments: ["--lifetime-ms", String(lifetime_seconds * 1000)],
    seccomp: host.seccomp,
    cgroup_version: host.facts.cgroup_version,
  });
  return { name: containerName(boot_id, sandbox_id, attempt), uid, spec };
}

function runTry(host: EngineHost, wanted: SandboxSpec, plan: Draft): Promise<TryReply> {
  // Whoever waits for a task goes before what can wait.
  const urgent = wanted.purpose !== "pool" && wanted.purpose !== "doctor";
  return host.creations.run(
    () =>
      tryCreation({
        ...plan,
        connection: host.connection,
        open_link: host.open_link,
        resources: wanted.resources,
        agent_sha256: host.agent.sha256,
        cgroup_version: host.facts.cgroup_version,
        own_namespaces: host.own_namespaces,
        permission: () => wanted.permission(),
      }),
    urgent,
  );
}

export function failedCreation(error: TaskError, hand_back: boolean): CreationFailure {
  const cleanup = Promise.resolve({ proven: true, kill_ms: null, remove_ms: null });
  return { error, hand_back, tries: 0, cleanup };
}

/** The agent's volume may be half filled: its program missing, cut short, or another one. */
function blamesAgentVolume(failure: TryFailure): boolean {
  const failedAtStart = failure.kind === "engine" && failure.step === "start";
  return failedAtStart || failure.kind === "other_agent" || failure.kind === "no_hello";
}

/** A container may have come to be without our hearing of it. */
function endLeftovers(host: EngineHost, wanted: SandboxSpec, id: string | null): () => Promise<ContainerReceipt> {
  const known = id === null ? null : { id, ended: false };
  return () => host.removals.run(() => endSandboxContainers(host.connection, wanted.sandbox_id, known));
}

export async function createVerified(host: EngineHost, wanted: SandboxSpec, image: KnownImage): Promise<CreationReply> {
  const began = monotonicMs();
  for (let attempt = 1; ; attempt++) {
    const plan = draft(host, wanted, image, attempt);
    host.in_hand.add(plan.name);
    const reply = await runTry(host, wanted, plan);
    if (reply.kind === "verified") {
      const took_ms = Math.round(monotonicMs() - began);
      return { kind: "created", creation: { ...plan, attempt, container: reply.container, took_ms } };
    }
    const { failure } = reply;
    host.notice({
      event: "creation_try_failed",
      sandbox_id: wanted.sandbox_id,
      try: attempt,
      reason: failure.kind,
      detail: detailOf(failure),
    });
    const cleanUp = endLeftovers(host, wanted, reply.id);
    const receipt = await cleanUp();
    if (receipt.proven) host.in_hand.delete(plan.name);
    const again = receipt.proven && attempt < TRIES_MAX && mayTryAgain(failure) && !host.closing.aborted;
    if (!again) return { kind: "failed", failure: giveUp(host, { failure, attempt, receipt, cleanUp }) };
    if (blamesAgentVolume(failure)) await ensureAgentVolume(host, image.id);
    await pause(BACK_OFF_MS[attempt - 1] ?? 0, host.closing);
  }
}

interface Ending {
  readonly failure: TryFailure;
  readonly attempt: number;
  readonly receipt: ContainerReceipt;
  cleanUp(): Promise<ContainerReceipt>;
}

function giveUp(host: EngineHost, { failure, attempt, receipt, cleanUp }: Ending): CreationFailure {
  const cleanup = receipt.proven ? Promise.resolve(receipt) : endUntilProven(cleanUp, host.closing);
  return { error: errorOf(failure, attempt), hand_back: true, tries: attempt, cleanup };
}
