/** Lists of tasks: newest first, filtered, in steps of a bounded size. */
import type { TaskName } from "@holdfast/contract";
import type { TaskPage, TaskQuery } from "@holdfast/ledger";
import { describe, expect, it } from "vitest";
import { IMAGE, type LedgerFixture, useFreshLedger, type Worker } from "./ledger-fixture.js";

let f: LedgerFixture;
let worker: Worker;

useFreshLedger(async (fixture) => {
  f = fixture;
  worker = await f.register({
    images: [IMAGE, "lab:other", "lab2:bb"].map((image) => ({ image, digest: "sha256:aa" })),
  });
});

type Filter = Partial<TaskQuery>;

const page = (filter: Filter = {}): Promise<TaskPage> =>
  f.ledger.tasks.list({ workspace_id: "default", cursor: null, limit: 100, ...filter });

/** Every page of it, and the task ids in the order they came. */
async function walk(filter: Filter) {
  const pages: TaskPage[] = [];
  for (let cursor: string | null = null; pages.length === 0 || cursor !== null; ) {
    expect(pages.length).toBeLessThan(100);
    const next = await page({ ...filter, cursor });
    pages.push(next);
    cursor = next.cursor;
  }
  return { pages, ids: pages.flatMap(({ tasks }) => tasks.map(({ task_id }) => task_id)) };
}

const nameOf = (task_id = ""): TaskName => ({ workspace_id: "default", task_id }) as TaskName;

const ids = async (filter: Filter): Promise<string[]> => (await walk(filter)).ids;

/** t1 ran to its end, t2 runs, t3 was cancelled, t4 waits with another tag, t5 with another image. */
async function five(): Promise<void> {
  const accept = async (task_id: string, image = IMAGE) => {
    await f.advance(1_000);
    return f.accept({ task_id, image });
  };
  await f.finish(await f.granted(worker, await accept("t1")));
  await f.granted(worker, await accept("t2"));
  await f.ledger.tasks.cancel(await accept("t3"));
  await accept("t4", "lab:other");
  await accept("t5", "lab2:bb");
}

describe("a list of tasks", () => {
  it.each<[string, Filter, string[]]>([
    ["everything", {}, ["t5", "t4", "t3", "t2", "t1"]],
    ["what waits", { statuses: ["PENDING"] }, ["t5", "t4"]],
    ["two statuses", { statuses: ["RUNNING", "CANCELLED"] }, ["t3", "t2"]],
    ["an image with its tag", { image: "lab:other" }, ["t4"]],
    ["an image in any tag", { image: "lab" }, ["t4", "t3", "t2", "t1"]],
    ["an age, to the millisecond", { age_ms_max: 2_000 }, ["t5", "t4", "t3"]],
    ["all at once", { statuses: ["PENDING", "CANCELLED"], image: "lab", age_ms_max: 1_999 }, ["t4"]],
    ["another workspace (W1)", { workspace_id: "other" }, []],
  ])("shows %s, whatever the size of a page", async (_, filter, wanted) => {
    await five();

    expect(await ids(filter)).toEqual(wanted);
    expect(await ids({ ...filter, limit: 1 })).toEqual(wanted);
  });

  it("tells how far it looked, and goes on where it stood though newer tasks came and old ones went", async () => {
    await five();
    const first = await page({ statuses: ["PENDING"], limit: 1 });
    expect(first).toMatchObject({ looked_at: 1, oldest_at_ms: f.now() });

    await f.accept({ task_id: "t6" });
    await f.redis.zrem(`${f.root}:index:default`, "t5");
    const second = await page({ limit: 2, cursor: first.cursor });
    expect(second.tasks.map(({ task_id }) => task_id)).toEqual(["t4", "t3"]);
    await f.redis.del(`${f.root}:task:default:t1`);
    const last = await page({ cursor: second.cursor });
    expect(last).toMatchObject({ looked_at: 2, cursor: null });
    expect(last.tasks.map(({ task_id }) => task_id)).toEqual(["t2"]);
  });

  it("looks at a bounded number in one step, and finds what lies behind it, also of one millisecond", async () => {
    const many = Array.from({ length: 1_200 }, (_, n) => `t${n}`);
    await Promise.all(many.map((task_id) => f.accept({ task_id })));
    const [sought] = many;
    await f.ledger.tasks.cancel(nameOf(sought));

    const found = await walk({ statuses: ["CANCELLED"] });
    expect(found.ids).toEqual([sought]);
    expect(found.pages.map(({ looked_at }) => looked_at)).toEqual([500, 500, 200]);
    const all = await walk({ limit: 1_000 });
    expect(all.ids.toSorted()).toEqual(many.toSorted());
    expect(Math.max(...all.pages.map(({ tasks }) => tasks.length))).toBe(100);
  });
});
