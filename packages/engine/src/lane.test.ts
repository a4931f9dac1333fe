import { describe, expect, it } from "vitest";
import { createLane } from "./lane.js";

/** Work that ends when told. */
function manual() {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end, ended };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("createLane", () => {
  it("never has more under way than its bound, and lets each ended one make room", async () => {
    const lane = createLane(2);
    const works = [manual(), manual(), manual()];
    const started: number[] = [];
    const runs = works.map(({ ended }, index) =>
      lane.run(() => {
        started.push(index);
        return ended;
      }),
    );

    await settled();
    expect(started).toEqual([0, 1]);
    works[1]?.end();
    await settled();
    expect(started).toEqual([0, 1, 2]);

    for (const work of works) work.end();
    await Promise.all(runs);
  });

  it("takes urgent work ahead of other work that waited longer", async () => {
    const lane = createLane(1);
    const first = manual();
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const runs = [lane.run(() => first.ended), lane.run(note("pool"), false), lane.run(note("task"), true)];

    first.end();
    await Promise.all(runs);

    expect(order).toEqual(["task", "pool"]);
  });

  it("makes room for the next where work throws", async () => {
    const lane = createLane(1);

    await expect(lane.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");

    expect(await lane.run(async () => "next")).toBe("next");
  });

  it("lets the next in while work hangs, and counts what hung once only", async () => {
    const lane = createLane(1, 300);
    const hung = manual();
    const first = lane.run(() => hung.ended);

    expect(await lane.run(async () => "second")).toBe("second");
    hung.end();
    await first;

    const third = manual();
    const order: string[] = [];
    const runs = [lane.run(() => third.ended), lane.run(async () => void order.push("fourth"))];
    await settled();
    expect(order).toEqual([]);
    third.end();
    await Promise.all(runs);
  });
});
