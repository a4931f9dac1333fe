import { type BootId, type HostId, TIMES } from "@holdfast/contract";
import type { BootSight, BuryReply } from "@holdfast/ledger";
import { describe, expect, test } from "vitest";
import { bootStateOf, handClock, OWN_HOST } from "../../test/boot-state.js";
import { bootWatchDuty } from "./boot-watch.js";

const SILENT = "boot_silent" as BootId;
const ended = { boot_id: SILENT, host_id: "host_2" as HostId, state: "LIVE", counter: 3 } as const;
const SIGHT: BootSight = { ...ended, lease_ended: true, dead_ms: null, reservations: 1 };

/** A boot whose ledger shows what the test says, and a hand that moves its clock from look to look. */
function setup(look: () => Promise<readonly BootSight[]>, reply: BuryReply = { kind: "buried", promotions: [] }) {
  const clock = handClock();
  const buried: unknown[] = [];
  const promoted: unknown[] = [];
  const bury = async (boot_id: BootId, counter: number): Promise<BuryReply> => {
    buried.push([boot_id, counter]);
    return reply;
  };
  const boots = { look: async () => [...(await look())], bury };
  const queue = { promote: async (promotions: readonly unknown[]) => promoted.push(...promotions) };
  const boot = bootStateOf({ boots, queue, clock });
  boot.lease.renewed(boot.lease.now(), TIMES.boot_lease_ms);
  const duty = bootWatchDuty(boot);

  async function lookFor(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      clock.pass(1_000);
      boot.lease.renewed(boot.lease.now(), TIMES.boot_lease_ms);
      await duty.runOnce();
    }
  }
  return { boot, buried, clock, duty, lookFor, promoted };
}

describe("boot watch", () => {
  test("buries with the counter it saw, once a whole lease of looks was answered (L4)", async () => {
    const { buried, lookFor } = setup(async () => [SIGHT]);

    await lookFor(8);
    expect(buried).toEqual([]);
    await lookFor(1);

    expect(buried).toEqual([[SILENT, 3]]);
  });

  test("wakes whoever a burial made room for", async () => {
    const promotion = { workspace_id: "default", task_id: "task_1", queue: "tasks", job_id: "j" };
    const reply = { kind: "buried", promotions: [promotion] } as unknown as BuryReply;
    const { lookFor, promoted } = setup(async () => [SIGHT], reply);

    await lookFor(9);

    expect(promoted).toEqual([promotion]);
  });

  test("a look that failed begins the observation anew (L4)", async () => {
    let away = false;
    const { buried, lookFor } = setup(async () => {
      if (away) throw new Error("away");
      return [SIGHT];
    });

    await lookFor(8);
    away = true;
    await lookFor(1);
    away = false;
    await lookFor(8);

    expect(buried).toEqual([]);
  });

  test("a worker past its own lease neither looks nor buries (L3)", async () => {
    let looks = 0;
    const { buried, clock, duty, lookFor } = setup(async () => {
      looks += 1;
      return [SIGHT];
    });
    await lookFor(8);
    clock.pass(TIMES.boot_lease_ms);

    await duty.runOnce();

    expect(looks).toBe(8);
    expect(buried).toEqual([]);
  });

  test("a young DEAD is looked at again when it is old enough, and then sweep and recovery are asked for, once (L4)", async () => {
    let dead_ms = 1_990;
    const { boot, lookFor } = setup(async () => [{ ...SIGHT, host_id: OWN_HOST, state: "DEAD", dead_ms }]);
    const poked: string[] = [];
    boot.pokeSweep = () => void poked.push("sweep");
    boot.pokeRecovery = () => void poked.push("recovery");
    const wokenUp = new Promise<void>((resolve) => {
      boot.pokeBootWatch = resolve;
    });

    await lookFor(1);
    await wokenUp;
    expect(poked).toEqual([]);
    dead_ms = 2_010;
    await lookFor(2);

    expect(poked).toEqual(["sweep", "recovery"]);
  });
});
