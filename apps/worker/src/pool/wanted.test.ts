import type { PoolKey } from "@holdfast/engine";
import { describe, expect, it } from "vitest";
import { createDemand } from "./demand.js";
import { slicesOf, wantedOf } from "./wanted.js";

const keyOf = (name: string, memory_mb = 512): PoolKey => ({
  image: `${name}:1`,
  image_digest: `sha256:${name}`,
  resources: { cpu: 1, memory_mb, disk_mb: 256, pids_limit: 128 },
  runtime: "runc",
});

const PYTHON = keyOf("python");
const SHELL = keyOf("shell");
const TINY = keyOf("tiny", 16);
const HUGE = keyOf("huge", 1_408);
const open = [PYTHON, PYTHON];

const counted = (...args: Parameters<typeof wantedOf>) => wantedOf(...args).map(({ key, count }) => [key.image, count]);

describe("wantedOf", () => {
  it("wants the default kind in every open place while nothing was asked for", () => {
    expect(counted({ pinned: [], open }, [])).toEqual([["python:1", 2]]);
  });

  it("wants what is pinned first, and adds up what is pinned twice or open as well", () => {
    expect(counted({ pinned: [SHELL, PYTHON, SHELL], open }, [])).toEqual([
      ["shell:1", 2],
      ["python:1", 3],
    ]);
  });

  it("gives places to what is asked for most, and keeps one for the default kind against little demand", () => {
    expect(counted({ pinned: [], open }, [{ key: SHELL, score: 2 }])).toEqual([
      ["shell:1", 1],
      ["python:1", 1],
    ]);
    expect(counted({ pinned: [], open }, [{ key: SHELL, score: 20 }])).toEqual([["shell:1", 2]]);
  });

  it("takes one use of late for no demand", () => {
    expect(counted({ pinned: [], open }, [{ key: SHELL, score: 1 }])).toEqual([["python:1", 2]]);
  });

  it("lets demand take no more room than the open places have, and no more places", () => {
    expect(counted({ pinned: [], open }, [{ key: HUGE, score: 50 }])).toEqual([["huge:1", 1]]);
    expect(counted({ pinned: [], open }, [{ key: TINY, score: 50 }])).toEqual([["tiny:1", 2]]);
    expect(counted({ pinned: [], open: [PYTHON] }, [{ key: HUGE, score: 50 }])).toEqual([["python:1", 1]]);
  });

  it("wants nothing where there are no places", () => {
    expect(wantedOf({ pinned: [], open: [] }, [{ key: SHELL, score: 50 }])).toEqual([]);
  });
});

describe("slicesOf", () => {
  it("begins with the room for every member, and goes down by one at a time", () => {
    expect(slicesOf({ pinned: [TINY], open })).toEqual([
      { memory_mb: 400 + 896 + 896, pids: 390 },
      { memory_mb: 400 + 896, pids: 260 },
      { memory_mb: 400, pids: 130 },
    ]);
    expect(slicesOf({ pinned: [], open: [] })).toEqual([]);
  });
});

describe("createDemand", () => {
  it("counts a use half after two minutes", () => {
    const demand = createDemand();
    demand.note(PYTHON, 0);
    demand.note(PYTHON, 120_000);
    demand.note(SHELL, 120_000);

    expect(demand.recent(120_000)).toEqual([
      { key: PYTHON, score: 1.5 },
      { key: SHELL, score: 1 },
    ]);
    expect(demand.recent(240_000).map(({ score }) => score)).toEqual([0.75, 0.5]);
  });

  it("forgets the least wanted of too many kinds", () => {
    const demand = createDemand();
    demand.note(PYTHON, 0);
    demand.note(PYTHON, 0);
    for (let n = 0; n < 200; n += 1) demand.note(keyOf(`k${n}`), n);

    expect(demand.recent(200)).toHaveLength(64);
    expect(demand.recent(200)[0]?.key).toEqual(PYTHON);
  });
});
