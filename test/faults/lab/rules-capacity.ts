/** C1, C2 and the ledger's half of E1 and Q1. */
import type { CheckRule, Violation } from "./checker.js";
import { allOf, groupBy, type HistoryRecord, type SeenAmount, type SeenReservation } from "./history.js";

const AMOUNTS = ["slots", "cpu_milli", "memory_mb", "pids"] as const;
/** States in which a container may run code or come to run it. */
export const ALIVE = new Set(["running", "paused", "restarting"]);

function sumOf(reservations: readonly SeenReservation[]): SeenAmount {
  const sum = { slots: 0, cpu_milli: 0, memory_mb: 0, pids: 0 };
  for (const { amount } of reservations) for (const name of AMOUNTS) sum[name] += amount[name];
  return sum;
}

function onePerTask(reservations: readonly SeenReservation[]): SeenReservation[] {
  return [...groupBy(reservations, ({ task }) => task).values()].flatMap((group) => group.slice(0, 1));
}

/** What the records of one look add up to, by scope. */
function recount(reservations: readonly SeenReservation[]): Map<string, SeenAmount> {
  const sums = new Map<string, SeenAmount>();
  for (const [host, group] of groupBy(reservations, (one) => one.host)) sums.set(`host:${host}`, sumOf(group));
  const once = onePerTask(reservations);
  for (const [workspace, group] of groupBy(once, ({ task }) => task.split(".")[0] ?? "")) {
    sums.set(`workspace:${workspace}`, sumOf(group));
  }
  if (once.length > 0) sums.set("fleet:all", sumOf(once));
  return sums;
}

const withinLimits: CheckRule = (records) => {
  const found: Violation[] = [];
  for (const { at_ms, reservations, limits, sums } of allOf(records, "ledger")) {
    const note = (message: string) => found.push({ invariant: "C1", message, at_ms });
    const counted = recount(reservations);
    for (const [scope, sum] of counted) {
      for (const name of AMOUNTS) {
        const limit = limits[scope]?.[name] ?? Number.POSITIVE_INFINITY;
        if (sum[name] > limit) note(`${scope} holds ${sum[name]} ${name} of ${limit}`);
      }
    }
    for (const scope of new Set([...counted.keys(), ...Object.keys(sums)])) {
      const [kept, real] = [sums[scope] ?? sumOf([]), counted.get(scope) ?? sumOf([])];
      if (AMOUNTS.some((name) => kept[name] !== real[name])) {
        note(`${scope} is kept as ${JSON.stringify(kept)} and adds up to ${JSON.stringify(real)}`);
      }
    }
    for (const [task, group] of groupBy(reservations, (one) => one.task)) {
      if (group.filter(({ state }) => state !== "draining").length > 1) note(`${task} is counted twice`);
    }
  }
  return found;
};

function hostsByBoot(records: readonly HistoryRecord[]): Map<string, string> {
  return new Map(allOf(records, "boot").map(({ boot, host }) => [boot, host]));
}

/** Counted apart from the ledger: what really runs on a host. */
const containersWithinLimits: CheckRule = (records) => {
  const hosts = hostsByBoot(records);
  const limits = Object.assign({}, ...allOf(records, "ledger").map((look) => look.limits)) as Record<
    string,
    SeenAmount
  >;
  return allOf(records, "containers").flatMap(({ at_ms, seen }) => {
    const running = seen.filter(({ state, purpose }) => purpose === "task" && ALIVE.has(state));
    return [...groupBy(running, ({ boot }) => hosts.get(boot) ?? "")].flatMap(([host, group]) => {
      const slots = limits[`host:${host}`]?.slots ?? Number.POSITIVE_INFINITY;
      const message = `${group.length} sandboxes of tasks run on ${host}, which has ${slots} slots`;
      return group.length > slots ? [{ invariant: "C1", message, at_ms }] : [];
    });
  });
};

/** A sandbox that runs, in a look begun after its capacity had been given back. */
const freedAfterProof: CheckRule = (records) => {
  const sandboxes = new Map(allOf(records, "grant").map(({ token, sandbox }) => [token, sandbox]));
  const freed = vanished(records);
  for (const { token, reply, at_ms } of allOf(records, "release")) {
    const sandbox = sandboxes.get(token);
    if (reply !== "released" || sandbox === undefined) continue;
    freed.set(sandbox, Math.min(at_ms, freed.get(sandbox) ?? at_ms));
  }
  return allOf(records, "containers").flatMap(({ from_ms, seen }) =>
    seen
      .filter(({ sandbox, state }) => ALIVE.has(state) && (freed.get(sandbox) ?? Number.POSITIVE_INFINITY) < from_ms)
      .map(({ sandbox, state }) => ({
        invariant: "C2",
        message: `${sandbox} is ${state} though its capacity was given back`,
        at_ms: from_ms,
      })),
  );
};

/** Sandboxes whose reservation was in one look and not in the next, unless Redis lost it. */
function vanished(records: readonly HistoryRecord[]): Map<string, number> {
  const losses = allOf(records, "lost_tail");
  const looks = allOf(records, "ledger");
  const found = new Map<string, number>();
  for (const [index, look] of looks.entries()) {
    const before = looks[index - 1];
    if (before === undefined) continue;
    if (losses.some(({ at_ms }) => at_ms >= before.at_ms && at_ms <= look.at_ms)) continue;
    const now = new Set(look.reservations.map(({ sandbox }) => sandbox));
    for (const { sandbox } of before.reservations) {
      if (!now.has(sandbox) && !found.has(sandbox)) found.set(sandbox, look.at_ms);
    }
  }
  return found;
}

/** No sandbox of a task stands in the engine whose grant was never given. */
const grantedBeforeMade: CheckRule = (records) => {
  const granted = new Set(allOf(records, "grant").map(({ sandbox }) => sandbox));
  const reserved = allOf(records, "ledger").flatMap((look) => look.reservations.map(({ sandbox }) => sandbox));
  const known = new Set([...granted, ...reserved]);
  const stray = allOf(records, "container_event").filter(
    ({ action, purpose, sandbox }) => action === "create" && purpose === "task" && !known.has(sandbox),
  );
  return stray.map(({ sandbox, at_ms }) => ({
    invariant: "E1",
    message: `${sandbox} was made for a task and no grant names it`,
    at_ms,
  }));
};

const nothingLeft: CheckRule = (records) =>
  allOf(records, "rest").flatMap(({ leftovers, at_ms }) =>
    leftovers.map((message) => ({ invariant: "Q1", message, at_ms })),
  );

export const capacityRules: readonly CheckRule[] = [
  withinLimits,
  containersWithinLimits,
  freedAfterProof,
  grantedBeforeMade,
  nothingLeft,
];
