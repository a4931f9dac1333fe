/** What waits warm on each host: one row a kind, over all workers of the host. */
import type { HostView, PoolKeyView } from "@holdfast/contract";
import { sandboxMemoryMb } from "@holdfast/contract";
import { table } from "./table.js";

const HEADINGS = [
  "POOL OF HOST",
  "IMAGE",
  "CPU",
  "MEMORY (MiB)",
  "DISK (MiB)",
  "READY",
  "HITS",
  "MISSES",
  "HELD (MiB)",
  "WHY",
];

const kindOf = ({ image_digest, runtime, cpu, memory_mb, disk_mb, pids_limit }: PoolKeyView): string =>
  JSON.stringify([image_digest, runtime, cpu, memory_mb, disk_mb, pids_limit]);

function rowOf(host: HostView, keys: readonly [PoolKeyView, ...PoolKeyView[]]): string[] {
  const [first] = keys;
  const sum = (what: "ready" | "filling" | "wanted" | "hits" | "misses"): number =>
    keys.reduce((all, key) => all + key[what], 0);
  const held_mb = (sum("ready") + sum("filling")) * sandboxMemoryMb(first);
  return [
    host.host_id,
    first.image,
    String(first.cpu),
    String(first.memory_mb),
    String(first.disk_mb),
    `${sum("ready")}/${sum("wanted")}`,
    String(sum("hits")),
    String(sum("misses")),
    String(held_mb),
    keys.some(({ pinned }) => pinned) ? "pinned" : "demand",
  ];
}

/** Empty where no worker keeps a pool. */
export function poolLines(hosts: readonly HostView[]): string[] {
  const rows = hosts.flatMap((host) => {
    const kinds = new Map<string, [PoolKeyView, ...PoolKeyView[]]>();
    for (const key of host.boots.flatMap(({ state, pool }) => (state === "DEAD" ? [] : pool))) {
      const same = kinds.get(kindOf(key));
      if (same === undefined) kinds.set(kindOf(key), [key]);
      else same.push(key);
    }
    return [...kinds.values()].map((keys) => rowOf(host, keys));
  });
  return rows.length === 0 ? [] : table(HEADINGS, rows);
}
