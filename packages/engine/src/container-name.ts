/**
 * Names and labels of what we make in an engine. They hold only what never changes; what a sandbox serves is in the
 * ledger.
 */
import {
  type BootId,
  bootIdSchema,
  type FleetId,
  fleetIdSchema,
  type HostId,
  hostIdSchema,
  type SandboxId,
  sandboxIdSchema,
} from "@holdfast/contract";
import { PURPOSES, type Purpose } from "./engine.js";

export interface ContainerIdentity {
  readonly fleet_id: FleetId;
  readonly host_id: HostId;
  readonly boot_id: BootId;
  readonly sandbox_id: SandboxId;
  readonly lifetime_seconds: number;
  readonly purpose: Purpose;
}

/** Creation try `attempt` (from 1) of a sandbox. No id holds a `-`, so the parts stay apart. */
export function containerName(bootId: BootId, sandboxId: SandboxId, attempt: number): string {
  return `holdfast-${bootId}-${sandboxId}-${attempt}`;
}

export const LABELS = {
  fleet: "holdfast.fleet",
  host: "holdfast.host",
  boot: "holdfast.boot",
  sandbox: "holdfast.sandbox",
  lifetime: "holdfast.lifetime_seconds",
  purpose: "holdfast.purpose",
} as const;

export function labelsOf(identity: ContainerIdentity): Record<string, string> {
  return {
    [LABELS.fleet]: identity.fleet_id,
    [LABELS.host]: identity.host_id,
    [LABELS.boot]: identity.boot_id,
    [LABELS.sandbox]: identity.sandbox_id,
    [LABELS.lifetime]: String(identity.lifetime_seconds),
    [LABELS.purpose]: identity.purpose,
  };
}

function purposeOf(text: string | undefined): Purpose | null {
  return PURPOSES.find((purpose) => purpose === text) ?? null;
}

/** Reads the labels back; null where they are not ours or not whole. */
export function identityOf(labels: Readonly<Record<string, string>>): ContainerIdentity | null {
  const fleet = fleetIdSchema.safeParse(labels[LABELS.fleet]);
  const host = hostIdSchema.safeParse(labels[LABELS.host]);
  const boot = bootIdSchema.safeParse(labels[LABELS.boot]);
  const sandbox = sandboxIdSchema.safeParse(labels[LABELS.sandbox]);
  const purpose = purposeOf(labels[LABELS.purpose]);
  const lifetime = labels[LABELS.lifetime];
  if (!fleet.success || !host.success || !boot.success || !sandbox.success || purpose === null) return null;
  if (lifetime === undefined || !/^[1-9][0-9]{0,9}$/.test(lifetime)) return null;
  return {
    fleet_id: fleet.data,
    host_id: host.data,
    boot_id: boot.data,
    sandbox_id: sandbox.data,
    lifetime_seconds: Number(lifetime),
    purpose,
  };
}

export function hostVolumeName(fleetId: FleetId): string {
  return `holdfast-host-${fleetId}`;
}

export function agentVolumePrefix(fleetId: FleetId): string {
  return `holdfast-agent-${fleetId}-`;
}

export function agentVolumeName(fleetId: FleetId, agentSha256: string): string {
  return `${agentVolumePrefix(fleetId)}${agentSha256.slice(0, 12)}`;
}
