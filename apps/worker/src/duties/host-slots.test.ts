import type { HostView } from "@holdfast/contract";
import { expect, test } from "vitest";
import { OWN_BOOT, OWN_HOST } from "../../test/boot-state.js";
import { slotsOfHost } from "./host-slots.js";

const host = (host_id: string, slots: number, held: Record<string, number>) =>
  ({
    host_id,
    limits: { slots: 12, cpu_milli: 0, memory_mb: 0, pids: 0 },
    reserved: { slots, cpu_milli: 0, memory_mb: 0, pids: 0 },
    boots: Object.entries(held).map(([boot_id, count]) => ({ boot_id, held: count })),
  }) as unknown as HostView;

test("others hold what is reserved on this host and not held by this boot, also what the dead have left (C1)", () => {
  const own = { boot_id: OWN_BOOT, host_id: OWN_HOST };
  const hosts = [host("host_2", 9, { boot_9: 9 }), host(OWN_HOST, 7, { [OWN_BOOT]: 3, boot_live: 2, boot_dead: 2 })];

  expect(slotsOfHost(hosts, own)).toEqual({ slots: 12, others: 4 });
  expect(slotsOfHost([host(OWN_HOST, 3, { [OWN_BOOT]: 3 })], own)).toEqual({ slots: 12, others: 0 });
  expect(slotsOfHost([], own)).toBeNull();
});
