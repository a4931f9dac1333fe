/**
 * Who waits beside free room, by the rules of the design and not by those scripts: workspaces before the fleet, the
 * fleet before hosts, the oldest first, and an older task keeps back only what could serve it.
 */
import type { Amounts, HostSight, Sight, TaskSight } from "./sight.js";

const fits = (amount: Amounts, room: Amounts): boolean => amount.every((wanted, i) => wanted <= (room[i] ?? 0));
const without = (room: Amounts, amount: Amounts): Amounts => room.map((free, i) => free - (amount[i] ?? 0));

/** Tasks that should be granted soon, oldest first. `serves` tells which boots are really there. */
export function dueIn(sight: Sight, serves: (boot_id: string) => boolean): TaskSight[] {
  const free = new Map(sight.free);
  const blocked = new Set<string>();
  const hosts = sight.hosts.filter(({ healthy, boots }) => healthy && boots.some(serves));
  const rooms = new Map<HostSight, Amounts>(hosts.map((host) => [host, host.free]));
  const due: TaskSight[] = [];
  const pending = sight.tasks.filter(({ status }) => status === "PENDING");
  for (const task of pending.toSorted((a, b) => a.accepted_us - b.accepted_us)) {
    const { workspace, amount, holds } = task;
    if (!holds && (blocked.has(workspace) || !fits(amount, free.get(workspace) ?? []))) {
      blocked.add(workspace);
      continue;
    }
    if (!holds && !fits(amount, free.get("") ?? [])) break;
    const able = [...rooms].filter(([host]) => fits(amount, host.limits));
    const found = able.find(([, room]) => fits(amount, room));
    if (found === undefined) {
      for (const [host] of able) rooms.delete(host);
      continue;
    }
    rooms.set(found[0], without(found[1], amount));
    if (!holds) for (const scope of [workspace, ""]) free.set(scope, without(free.get(scope) ?? [], amount));
    due.push(task);
  }
  return due;
}
