/** What makes two sandboxes alike, so that one may wait in place of the other. */
import { amountOf, type Resources } from "@holdfast/contract";

export interface PoolKey {
  /** As named in the allow list. Two names of one digest are one key. */
  readonly image: string;
  readonly image_digest: string;
  readonly resources: Resources;
  readonly runtime: string;
}

/** Equal keys have equal texts. */
export function poolKeyText({ image_digest, resources, runtime }: PoolKey): string {
  const { cpu, memory_mb, disk_mb, pids_limit } = resources;
  return [image_digest, runtime, cpu, memory_mb, disk_mb, pids_limit].join(" ");
}

/** What sandboxes that wait hold of a host: they run nothing, so neither a slot nor a core. */
export interface PoolRoom {
  readonly memory_mb: number;
  readonly pids: number;
}

export const NO_ROOM: PoolRoom = { memory_mb: 0, pids: 0 };

export function roomFor(resources: Resources): PoolRoom {
  const { memory_mb, pids } = amountOf(resources);
  return { memory_mb, pids };
}

export function sumOfRooms(rooms: Iterable<PoolRoom>): PoolRoom {
  let sum = NO_ROOM;
  for (const { memory_mb, pids } of rooms) sum = { memory_mb: sum.memory_mb + memory_mb, pids: sum.pids + pids };
  return sum;
}

export function fitsInto(wanted: PoolRoom, room: PoolRoom): boolean {
  return wanted.memory_mb <= room.memory_mb && wanted.pids <= room.pids;
}
