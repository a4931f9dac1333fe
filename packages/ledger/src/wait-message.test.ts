import { HOST_REASONS, WAIT_REASONS, type WaitDetails } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { waitMessage } from "./wait-message.js";

const DETAILS: WaitDetails = {
  ...{ scope: null, short: [], place: null, hosts: [], sent_to_host_id: null, grants_open_in_ms: 0 },
  queue_timeout_at_ms: null,
};

describe("what a caller reads of a task that waits", () => {
  it.each(WAIT_REASONS)("%s is a sentence of its own, with and without details", (reason) => {
    for (const text of [waitMessage(reason, null), waitMessage(reason, DETAILS)]) expect(text).toMatch(/^[A-Z].*\.$/);
  });

  it("goes from limit to place", () => {
    const short = [{ amount: "memory_mb" as const, wanted: 900, reserved: 4_000, limit: 4_096 }];
    const details = { ...DETAILS, short, place: { list: "fleet" as const, place: 1, of: 3 } };

    expect(waitMessage("fleet_full", details)).toBe(
      "The fleet has reached its limit. 4000 of 4096 MiB of memory taken, 900 wanted. It is the next of 3 that wait.",
    );
  });

  it("takes back what is not true any more: room came since it was parked", () => {
    const room = { host_id: "host_a" as WaitDetails["hosts"][number]["host_id"], reason: "room" as const, short: [] };

    expect(waitMessage("workspace_full", DETAILS)).toContain("There is room again");
    expect(waitMessage("host_full", { ...DETAILS, hosts: [room] })).toContain("There is room again");
    expect(waitMessage("host_full", DETAILS)).toBe("No host has the resources free.");
  });

  it("throws for a reason that is none", () => {
    expect(() => waitMessage("constructor", null)).toThrow(/no such reason/);
  });

  it("has words for every reason of a host", () => {
    for (const text of Object.values(HOST_REASONS)) expect(text).toMatch(/^[a-z][^.]+$/);
  });
});
