import type { BootId, HostView } from "@holdfast/contract";
import type { BoardQueue } from "@holdfast/queue";
import { expect, test } from "vitest";
import { followBoots } from "./board-queues.js";

function setup() {
  let boots: Partial<HostView["boots"][number]>[] | null = [];
  let [looks, now_ms] = [0, 0];
  const [open, shelf] = [new Set<string>(), new Set<string>()];
  const hosts = {
    list: async () => {
      looks += 1;
      if (boots === null) throw new Error("away");
      return [{ host_id: "host_1", boots }] as unknown as HostView[];
    },
  };
  const openBootQueue = (boot_id: BootId) => {
    expect(open.has(boot_id)).toBe(false);
    open.add(boot_id);
    return { name: boot_id, close: async () => void open.delete(boot_id) } as unknown as BoardQueue;
  };
  const queue = { openBootQueue, boardQueue: () => ({}) as BoardQueue };
  const followed = followBoots(
    { hosts, queue },
    { add: ({ name }) => shelf.add(name), remove: ({ name }) => shelf.delete(name) },
    () => now_ms,
  );
  return {
    followed,
    looks: () => looks,
    state: () => ({ shelf: [...shelf], open: [...open] }),
    say: (...ids: string[]) => {
      boots = ids.map((id) => ({
        boot_id: id.replace("!", "") as BootId,
        state: id.startsWith("!") ? "DEAD" : "LIVE",
      }));
    },
    away: () => {
      boots = null;
    },
    later: async (ms = 2_000) => {
      now_ms += ms;
      await followed.refresh();
    },
  };
}

test("a boot's queue is shown while the ledger has the boot alive, and let go a look after it was taken away", async () => {
  const { later, say, state } = setup();
  say("a", "b", "!c");
  await later();
  expect(state()).toEqual({ shelf: ["a", "b"], open: ["a", "b"] });

  say("!a", "b", "d");
  await later();
  expect(state()).toEqual({ shelf: ["b", "d"], open: ["a", "b", "d"] });
  await later();
  expect(state()).toEqual({ shelf: ["b", "d"], open: ["b", "d"] });
});

test("the ledger is asked once for all who look at once, and not again while its answer is fresh", async () => {
  const { followed, later, looks } = setup();
  await Promise.all([followed.refresh(), followed.refresh(), later(0)]);
  await later(1_999);
  expect(looks()).toBe(1);
  await later(1);
  expect(looks()).toBe(2);
});

test("without an answer all stays as it was", async () => {
  const { away, later, say, state } = setup();
  say("a");
  await later();
  away();
  await later();
  expect(state()).toEqual({ shelf: ["a"], open: ["a"] });
});

test("nothing is held after many boots, nor after the end", async () => {
  const { followed, later, say, state } = setup();
  for (let round = 0; round < 1_000; round += 1) {
    say(`a${round}`, `b${round}`);
    await later();
    expect(state().open.length).toBeLessThanOrEqual(4);
  }
  await followed.close();
  expect(state().open).toEqual([]);
});
