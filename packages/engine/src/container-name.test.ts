import { drawBootId, drawFleetId, drawHostId, drawSandboxId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { agentVolumeName, containerName, hostVolumeName, identityOf, LABELS, labelsOf } from "./container-name.js";

const identity = {
  fleet_id: drawFleetId(),
  host_id: drawHostId(),
  boot_id: drawBootId(),
  sandbox_id: drawSandboxId(),
  lifetime_seconds: 90,
  purpose: "task",
} as const;

describe("names", () => {
  it("carry boot, sandbox and try, and differ in each", () => {
    const { boot_id, sandbox_id } = identity;
    const names = [
      containerName(boot_id, sandbox_id, 1),
      containerName(boot_id, sandbox_id, 2),
      containerName(boot_id, drawSandboxId(), 1),
      containerName(drawBootId(), sandbox_id, 1),
    ];

    expect(names[0]).toBe(`holdfast-${boot_id}-${sandbox_id}-1`);
    expect(new Set(names).size).toBe(4);
  });

  it("of volumes carry the fleet, and the agent's the first twelve digits of its hash", () => {
    expect(hostVolumeName(identity.fleet_id)).toBe(`holdfast-host-${identity.fleet_id}`);
    expect(agentVolumeName(identity.fleet_id, "0123456789abcdef".repeat(4))).toBe(
      `holdfast-agent-${identity.fleet_id}-0123456789ab`,
    );
  });
});

describe("labels", () => {
  it("are the six that never change, and read back", () => {
    const labels = labelsOf(identity);

    expect(Object.keys(labels).toSorted()).toEqual([
      "holdfast.boot",
      "holdfast.fleet",
      "holdfast.host",
      "holdfast.lifetime_seconds",
      "holdfast.purpose",
      "holdfast.sandbox",
    ]);
    expect(identityOf({ ...labels, "org.example": "x" })).toEqual(identity);
  });

  it.each(Object.values(LABELS))("without a good %s are nobody's", (label) => {
    const { [label]: _, ...rest } = labelsOf(identity);

    expect(identityOf(rest)).toBeNull();
    expect(identityOf({ ...rest, [label]: "a-b/../c" })).toBeNull();
  });
});
