/** Tasks of one host's ledger, and what status says of them. */
import type { TaskName, TaskView, WaitDetails } from "@holdfast/contract";
import type { Delivery, Grant } from "@holdfast/ledger";
import { expect } from "vitest";
import type { LedgerFixture, Worker } from "./ledger-fixture.js";

type More = Parameters<LedgerFixture["accept"]>[0];

export interface StatusBench {
  /** In an order that the clock can tell. */
  accept(more?: More): Promise<Delivery>;
  granted(more?: More, by?: Worker): Promise<Grant>;
  /** Refused for want of room, so that it stands in a list. */
  parked(more?: More): Promise<Delivery>;
  view(name: TaskName): Promise<TaskView>;
  details(name: TaskName): Promise<WaitDetails>;
  beat(of: Worker, counter: number, engine_healthy?: boolean): Promise<unknown>;
}

export function statusBench(f: LedgerFixture, worker: Worker): StatusBench {
  const bench: StatusBench = {
    accept: async (more) => {
      await f.advance(1);
      return f.accept(more);
    },
    granted: async (more, by = worker) => f.granted(by, await bench.accept(more)),
    parked: async (more) => {
      const delivery = await bench.accept(more);
      expect((await f.admit(worker, delivery)).kind).toBe("parked");
      return delivery;
    },
    view: async (name) => {
      const found = await f.ledger.tasks.status(name);
      if (!found) throw new Error("no such task");
      return found;
    },
    details: async (name) => {
      const found = (await bench.view(name)).waiting?.details;
      if (!found) throw new Error("it does not wait");
      return found;
    },
    beat: (of, counter, engine_healthy = true) =>
      f.ledger.boots.beat({ ...of, counter, held: [], fence_seen: null, engine_healthy }),
  };
  return bench;
}
