/** Callers in processes of their own: one request from several, a stream others read on, readers that come late. */
import { drawTaskId, type HoldfastError, type StreamItem, workspaceIdSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { saidBy, startCaller } from "./lab/caller.js";
import { accepted, grantsOf, shell, times, useFleet } from "./lab/use-fleet.js";

const POSTS_EACH = 10;
const LATE_EACH = times(15, 50);
const DELAYS_MS = [0, 50, 2_000];
const COUNTED = 20_000;
const COUNTING = `i=0; while [ $i -lt ${COUNTED} ]; do i=$((i+1)); echo $i; [ $((i % 400)) = 0 ] && sleep 0.1; done; true`;
const PRINTED = Array.from({ length: COUNTED }, (_, n) => `${n + 1}\n`).join("");

interface Answer {
  readonly task_id?: string;
  readonly existing?: boolean;
  readonly code?: string;
}

interface Read {
  readonly task_id: string;
  readonly seen: readonly StreamItem[];
}

const printedIn = (items: readonly StreamItem[]) =>
  items.map((item) => (item.kind === "task_log" && item.stream === "stdout" ? item.data : "")).join("");
const endsIn = (items: readonly StreamItem[]) => items.filter(({ kind }) => kind === "task_finished").length;

describe("two callers", () => {
  const fleet = useFleet({ workers: 1, slots: 8 });
  const workspace_id = workspaceIdSchema.parse("default");

  /** So that the end of the run counts the task in. */
  const noteCall = (task_id: string, body: string) =>
    fleet().history.add({
      kind: "call",
      call: fleet().history.nextCall(),
      op: "submit",
      task: `default.${task_id}`,
      body,
    });

  it(`send one request ${2 * POSTS_EACH} times at once: one task, one execution; another body under its name is refused for ever (T2, O-26)`, async () => {
    const task_id = drawTaskId();
    const task = { workspace_id, task_id };
    const request = shell("echo once", { task_id });
    const post = (what: unknown, count: number) =>
      startCaller(fleet(), { op: "submit", request: what, times: count }).then((caller) => saidBy<Answer>(caller));
    noteCall(task_id, "same");

    const answers = (await Promise.all([post(request, POSTS_EACH), post(request, POSTS_EACH)])).flat();
    const other = shell("echo other", { task_id });
    const early = await post(other, 1);
    const outcome = await fleet().producer.outcome(task, 20_000);
    const late = [...(await post(request, 1)), ...(await post(other, 1))];

    expect(answers.map((answer) => answer.task_id)).toEqual(answers.map(() => task_id));
    expect([answers.length, answers.filter(({ existing }) => existing === false).length]).toEqual([20, 1]);
    expect(early.map(({ code }) => code)).toEqual(["TASK_CONFLICT"]);
    expect([outcome.status, outcome.stdout.text, grantsOf(fleet(), task)]).toEqual(["SUCCEEDED", "once\n", 1]);
    expect(late).toEqual([
      expect.objectContaining({ task_id, existing: true }),
      expect.objectContaining({ code: "TASK_CONFLICT" }),
    ]);
    expect(grantsOf(fleet(), task)).toBe(1);
  });

  it(`read 1..${COUNTED} in turn over five drops, one before any event: joined it is exact, and ends once (V1, O-28)`, {
    timeout: 90_000,
  }, async () => {
    const { task_id } = await accepted(fleet(), shell(COUNTING));
    const seen: StreamItem[] = [];
    let after = 0;
    const readOn = async (order: { readonly until?: number; readonly drop?: boolean }) => {
      const { until = Number.MAX_SAFE_INTEGER, drop = false } = order;
      const items = await saidBy<StreamItem>(await startCaller(fleet(), { op: "read", task_id, after, until, drop }));
      seen.push(...items);
      for (const item of items) if ("sequence" in item) after = item.sequence;
    };
    await readOn({ until: 3 });
    await readOn({ until: 9 });
    await readOn({ drop: true });
    await readOn({ until: 17 });
    await readOn({ until: 18 });
    await readOn({});

    const sequences = seen.flatMap((item) => ("sequence" in item ? [item.sequence] : []));
    expect(sequences).toEqual(sequences.map((_, n) => n + 1));
    expect([printedIn(seen) === PRINTED, endsIn(seen), seen.at(-1)?.kind]).toEqual([true, 1, "task_finished"]);
  });

  it(`come late to ${2 * LATE_EACH} tasks that end at once: each reads all of it and is let go; an unknown task has no stream (V1, O-29)`, {
    timeout: 180_000,
  }, async () => {
    const ids = Array.from({ length: 2 * LATE_EACH }, () => drawTaskId());
    const tasks = ids.map((task_id, n) => ({ task_id, delay_ms: DELAYS_MS[n % DELAYS_MS.length] ?? 0 }));
    const readers = await Promise.all(
      [tasks.slice(0, LATE_EACH), tasks.slice(LATE_EACH)].map((half) =>
        startCaller(fleet(), { op: "late", tasks: half }),
      ),
    );
    for (const task_id of ids) await accepted(fleet(), shell("echo hi", { task_id }));
    const read = (await Promise.all(readers.map((reader) => saidBy<Read>(reader)))).flat();
    const unknown = await saidBy<Answer>(await startCaller(fleet(), { op: "read", task_id: drawTaskId(), after: 0 }));

    expect(read.map(({ task_id }) => task_id).toSorted()).toEqual(ids.toSorted());
    for (const { seen } of read) {
      expect([printedIn(seen), endsIn(seen), seen.at(-1)?.kind]).toEqual(["hi\n", 1, "task_finished"]);
    }
    expect(unknown.map(({ code }) => code)).toEqual(["TASK_NOT_FOUND" satisfies HoldfastError["code"]]);
  });

  it("leave nothing behind and no rule broken (C1, C2, T1, Q1)", async () => {
    await fleet().finish();
  });
});
