import { type BootId, type HostId, TIMES } from "@holdfast/contract";
import type { Delivery, FreeRight, Promotion } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { bootStateOf, handClock, OWN_HOST } from "../../test/boot-state.js";
import { recoveryDuty } from "./recovery.js";

const DEAD = "boot_dead" as BootId;
const THERE = "host_there" as HostId;
const DELIVERY = { workspace_id: "default", task_id: "task_1", delivery: 2, queue: "tasks" } as Delivery;
const PROMOTION = { workspace_id: "default", task_id: "task_2", queue: "tasks", job_id: "j" } as Promotion;

interface Given {
  readonly host_id: HostId;
  /** Sandboxes of the dead boot in the ledger. */
  readonly reserved?: readonly string[];
  /** Those of them that were recorded as serving their task. */
  readonly assigned?: readonly string[];
  readonly holds_slice?: boolean;
  /** What the engine shows of them after a sweep; null where it cannot be asked. */
  readonly found?: readonly { sandbox_id: string; state: string; purpose?: string }[] | null;
}

/** A DEAD boot that holds what the test says, and a list of what recovery asked for, in order. */
function setup({ host_id, reserved = ["sbx_1"], assigned = reserved, holds_slice = false, found = [] }: Given) {
  const asked: string[] = [];
  const clock = handClock();
  const say = (text: string): void => void asked.push(text);
  const sandboxes = reserved.map((sandbox_id) => ({
    ...{ sandbox_id, boot_id: DEAD, assigned: assigned.includes(sandbox_id) },
  }));
  const boot = bootStateOf({
    clock,
    boots: {
      recover: async () => {
        const first = !asked.includes("recover");
        say("recover");
        return { requeued: first ? [DELIVERY] : [], settled: [], promotions: [], left: 0 };
      },
      free: async (_: BootId, right: FreeRight) => {
        const proven = right.kind === "bound" ? ["bound"] : [...right.sandbox_ids, ...(right.all_gone ? ["all"] : [])];
        say(`free ${proven.join(",")}`);
        return { promotions: [PROMOTION], left: 0, slice_freed: holds_slice };
      },
      reroute: async () => {
        say("reroute");
        return [];
      },
    },
    hosts: { sandboxes: async () => sandboxes },
    queue: {
      deliver: async () => say("deliver"),
      promote: async (promotions: readonly Promotion[]) => {
        say("promote");
        return promotions.length;
      },
      removeBootQueue: async () => say("remove queue"),
    },
    engine: {
      sweep: async ({ dead_boots }: { dead_boots: ReadonlySet<string> }) => {
        if (found === null) throw new Error("away");
        say(`sweep ${[...dead_boots].join(",")}`);
        return { seen: 1, removed: 0, failed: 0, stuck: 0, strange: [] };
      },
      list: async () => (found ?? []).map((one) => ({ ...one, boot_id: DEAD })),
    },
  });
  const look = (): void => {
    boot.lease.renewed(boot.lease.now(), TIMES.boot_lease_ms);
    const sight = { boot_id: DEAD, host_id, state: "DEAD", counter: 1, lease_ended: true, dead_ms: 2_000 } as const;
    const now_ms = boot.lease.now();
    boot.sights.take({
      sent_at_ms: now_ms,
      answered_at_ms: now_ms,
      sights: [{ ...sight, reservations: reserved.length, holds_slice }],
    });
  };
  look();
  return { asked, boot, clock, duty: recoveryDuty(boot), look };
}

describe("recovery of a DEAD boot", () => {
  test("of this host: proof first, then its tasks, then its capacity, then its route and queue (C2, T2)", async () => {
    const { asked, duty } = setup({ host_id: OWN_HOST });

    await duty.runOnce();

    const order = [`sweep ${DEAD}`, "recover", "free sbx_1,all", "deliver", "promote", "reroute", "remove queue"];
    expect(asked).toEqual(order);
  });

  test("while one of its sandboxes runs nothing of it is handed on or freed (C2)", async () => {
    const found = [{ sandbox_id: "sbx_1", state: "running" }];
    const { asked, duty } = setup({ host_id: OWN_HOST, found });

    await duty.runOnce();

    expect(asked).toEqual([`sweep ${DEAD}`, "reroute", "remove queue"]);
  });

  test("one whose removal hangs holds up no task, but keeps its own capacity", async () => {
    const found = [{ sandbox_id: "sbx_stuck", state: "removing" }];
    const { asked, duty } = setup({ host_id: OWN_HOST, reserved: ["sbx_1", "sbx_stuck"], found });

    await duty.runOnce();

    expect(asked).toContain("recover");
    expect(asked).toContain("free sbx_1");
  });

  test("a warm sandbox that is left may serve any task that none was assigned to: only what was is proven (C2)", async () => {
    const found = [{ sandbox_id: "sbx_warm", state: "removing", purpose: "pool" }];
    const reserved = ["sbx_drawn", "sbx_served"];
    const { asked, duty } = setup({ host_id: OWN_HOST, reserved, assigned: ["sbx_served"], holds_slice: true, found });

    await duty.runOnce();

    expect(asked).toContain("free sbx_served");
  });

  test("its pool's slice is freed by proof that nothing of it is left, also where it holds no task (C2)", async () => {
    const { asked, duty } = setup({ host_id: OWN_HOST, reserved: [], holds_slice: true });
    await duty.runOnce();
    expect(asked).toContain("free all");

    const left = setup({
      host_id: OWN_HOST,
      reserved: [],
      holds_slice: true,
      found: [{ sandbox_id: "x", state: "dead" }],
    });
    await left.duty.runOnce();
    expect(left.asked.filter((one) => one.startsWith("free"))).toEqual([]);
  });

  test("an engine that cannot be asked proves nothing; the dead-man bound on this worker's clock does (C2)", async () => {
    const { asked, clock, duty, look } = setup({ host_id: OWN_HOST, found: null });

    await duty.runOnce();
    expect(asked).toEqual(["reroute", "remove queue"]);
    clock.pass(TIMES.dead_man_bound_ms);
    look();
    await duty.runOnce();

    expect(asked.slice(2, 4)).toEqual(["recover", "free bound"]);
  });

  test("of another host: tasks at once, capacity by the bound only, and the engine here is not asked (C2, E2)", async () => {
    const { asked, clock, duty, look } = setup({ host_id: THERE });

    await duty.runOnce();
    expect(asked).toEqual(["recover", "deliver", "reroute", "remove queue"]);
    clock.pass(TIMES.dead_man_bound_ms);
    look();
    await duty.runOnce();

    expect(asked).toContain("free bound");
    expect(asked.some((one) => one.startsWith("sweep"))).toBe(false);
  });

  test("a worker past its own lease does none of it (L3)", async () => {
    const { asked, clock, duty } = setup({ host_id: OWN_HOST });
    clock.pass(TIMES.boot_lease_ms);

    await duty.runOnce();

    expect(asked).toEqual([]);
  });
});
