import { HoldfastError, type StreamItem, type TaskEvent, type TaskName, type TaskStatus } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { type FollowDeps, followEvents } from "./event-follower.js";
import type { EventPage } from "./event-page.js";

const NAME = { workspace_id: "w", task_id: "t" } as TaskName;

function event(sequence: number, kind = "task_progress"): TaskEvent {
  return { kind, sequence, at_ms: 1, attempt: 1, progress: {}, status: "SUCCEEDED" } as unknown as TaskEvent;
}

function page(status: TaskStatus, last: number, sequences: readonly number[]): EventPage {
  const finished = status === "SUCCEEDED" ? last : 0;
  return {
    status,
    last,
    events: sequences.map((sequence) => event(sequence, sequence === finished ? "task_finished" : "task_progress")),
  };
}

/** A ledger whose pages are given one after another; the last one repeats. */
function deps(pages: readonly (EventPage | null | Error)[], news: readonly string[] = []) {
  const asked: number[] = [];
  let now = 0;
  const given: FollowDeps & { stopped: boolean; asked: number[] } = {
    stopped: false,
    asked,
    silence_ms: 1,
    heartbeat_ms: 10,
    now: () => {
      now += 1;
      return now;
    },
    page: async (after) => {
      asked.push(after);
      const next = pages[Math.min(asked.length, pages.length) - 1] ?? null;
      if (next instanceof Error) throw next;
      return next;
    },
    listen: async (put) => {
      for (const message of news) put(message);
      return async () => {
        given.stopped = true;
      };
    },
  };
  return given;
}

async function all(given: FollowDeps, after = 0, most = 50): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of followEvents(given, NAME, { after })) {
    items.push(item);
    if (items.length === most) break;
  }
  return items;
}

const progress = (sequence: number): string => `${sequence} 1 1 {"kind":"task_progress","progress":{}}`;
const kinds = (items: readonly StreamItem[]) =>
  items.map((item) => ("sequence" in item && item.kind !== "task_finished" ? item.sequence : item.kind));

describe("following events", () => {
  it("ends after the terminal event and stops listening (V1)", async () => {
    const given = deps([page("SUCCEEDED", 3, [1, 2, 3])]);

    expect(kinds(await all(given))).toEqual([1, 2, "task_finished"]);
    expect(given.stopped).toBe(true);
  });

  it("stops listening when the reader leaves", async () => {
    const given = deps([page("RUNNING", 2, [1, 2])]);

    await all(given, 0, 1);

    expect(given.stopped).toBe(true);
  });

  it("takes news only where they continue the cursor, and reads the stream on a hole (V1)", async () => {
    const given = deps(
      [page("RUNNING", 1, [1]), page("SUCCEEDED", 5, [4, 5])],
      [progress(1), progress(2), progress(3), progress(5)],
    );

    expect(kinds(await all(given))).toEqual([1, 2, 3, 4, "task_finished"]);
    expect(given.asked).toEqual([0, 3]);
  });

  it("reads the stream for an event that was published by its number only, and after an overflow (V1)", async () => {
    const large = deps([page("RUNNING", 1, [1]), page("SUCCEEDED", 3, [2, 3])], ["2"]);
    const many = Array.from({ length: 70 }, (_, n) => progress(n + 2));
    const flooded = deps([page("RUNNING", 1, [1]), page("SUCCEEDED", 3, [2, 3])], many);

    expect(kinds(await all(large))).toEqual([1, 2, "task_finished"]);
    expect(kinds(await all(flooded))).toEqual([1, 2, "task_finished"]);
    expect(flooded.asked).toEqual([0, 1]);
  });

  it("says stale once after three missed heartbeats of a running task, and again only after a new sign of life", async () => {
    const quiet = page("RUNNING", 1, []);
    const items = await all(deps([quiet, ...Array(60).fill(quiet), page("SUCCEEDED", 2, [2])]), 1);

    expect(kinds(items)).toEqual(["stale", "task_finished"]);
  });

  it("never says stale of a task that waits: nobody beats for it", async () => {
    const quiet = page("PENDING", 1, []);
    const items = await all(deps([quiet, ...Array(60).fill(quiet), page("SUCCEEDED", 2, [2])]), 1);

    expect(kinds(items)).toEqual(["task_finished"]);
  });

  it("survives an outage once it has begun, and tells of one before (V1)", async () => {
    const away = new HoldfastError("LEDGER_UNAVAILABLE");

    const items = await all(deps([page("RUNNING", 1, [1]), away, away, page("SUCCEEDED", 2, [2])]));

    expect(kinds(items)).toEqual([1, "task_finished"]);
    await expect(all(deps([away]))).rejects.toBe(away);
  });

  it("never survives an error that is no outage", async () => {
    await expect(all(deps([page("RUNNING", 1, [1]), new HoldfastError("INTERNAL")]))).rejects.toMatchObject({
      code: "INTERNAL",
    });
  });
});
