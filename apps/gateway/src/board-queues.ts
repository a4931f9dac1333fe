/**
 * The queues that the board shows beside the shared one: that of each boot that has not died, as the ledger has them.
 * They come and go with the boots, while somebody looks.
 */
import { monotonicMs } from "@holdfast/chassis";
import type { BootId, HostId } from "@holdfast/contract";
import type { HostStore } from "@holdfast/ledger";
import type { BoardQueue, TaskQueue } from "@holdfast/queue";

export interface BoardSources {
  readonly hosts: Pick<HostStore, "list">;
  readonly queue: Pick<TaskQueue, "boardQueue" | "openBootQueue">;
}

/** Where they are shown. */
export interface Shelf {
  add(queue: BoardQueue, host_id: HostId): void;
  remove(queue: BoardQueue): void;
}

export interface BootQueues {
  /** Looks at the ledger where the last look is not fresh. Without an answer all stays as it is. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

const FRESH_MS = 2_000;

export function followBoots({ hosts, queue }: BoardSources, shelf: Shelf, now_ms = monotonicMs): BootQueues {
  const shown = new Map<BootId, BoardQueue>();
  /** Answers that were begun before may still read from these. */
  let leaving: BoardQueue[] = [];
  let looked_ms = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const views = await hosts.list();
    looked_ms = now_ms();
    await Promise.all(leaving.map((each) => each.close()));
    leaving = [];
    const alive = new Map<BootId, HostId>();
    for (const { host_id, boots } of views) {
      for (const { boot_id, state } of boots) if (state !== "DEAD") alive.set(boot_id, host_id);
    }
    for (const [boot_id, each] of shown) {
      if (alive.has(boot_id)) continue;
      shown.delete(boot_id);
      shelf.remove(each);
      leaving.push(each);
    }
    for (const [boot_id, host_id] of alive) {
      if (shown.has(boot_id)) continue;
      const each = queue.openBootQueue(boot_id);
      shown.set(boot_id, each);
      shelf.add(each, host_id);
    }
  }

  return {
    refresh: async () => {
      if (now_ms() - looked_ms < FRESH_MS) return;
      looking ??= look()
        .catch(() => {})
        .finally(() => {
          looking = null;
        });
      await looking;
    },
    close: async () => {
      await looking;
      await Promise.all([...shown.values(), ...leaving].map((each) => each.close()));
    },
  };
}
