import type { HostView, PoolKeyView } from "@holdfast/contract";
import { expect, test } from "vitest";
import { poolLines } from "./pool-lines.js";

const KEY: PoolKeyView = {
  image: "holdfast/shell:1",
  image_digest: "sha256:1",
  runtime: "runc",
  cpu: 0.5,
  memory_mb: 64,
  disk_mb: 256,
  pids_limit: 128,
  pinned: true,
  wanted: 2,
  ready: 1,
  filling: 1,
  hits: 7,
  misses: 1,
};

const host = (host_id: string, ...pools: PoolKeyView[][]): HostView =>
  ({ host_id, boots: pools.map((pool) => ({ state: "LIVE", pool })) }) as unknown as HostView;

const cells = (line: string | undefined): string[] => (line ?? "").split(/ {2,}/);

test("one line a kind and host, over all its workers", () => {
  const other = { ...KEY, image: "holdfast/python:3.11-1", image_digest: "sha256:2", pinned: false };
  const lines = poolLines([
    host("host_1", [KEY, other], [{ ...KEY, ready: 2, filling: 0, hits: 1 }]),
    host("host_2", []),
  ]);

  expect(lines.map(cells)).toEqual([
    expect.arrayContaining(["POOL OF HOST", "READY", "HITS", "HELD (MiB)"]),
    ["host_1", "holdfast/shell:1", "0.5", "64", "256", "3/4", "8", "2", "1792", "pinned"],
    ["host_1", "holdfast/python:3.11-1", "0.5", "64", "256", "1/2", "7", "1", "896", "demand"],
  ]);
});

test("nothing where nobody keeps a pool", () => {
  expect(poolLines([host("host_1", [])])).toEqual([]);
});
