/**
 * Counts a ledger independently of its scripts: what is left over (Q1) and whether each sum equals its records (C1).
 * For tests and for an operator in doubt; it reads every key and stops nothing.
 */
import { AMOUNT_KEYS, type Amount } from "@holdfast/contract";
import type { Redis } from "ioredis";
import { keysOf, rootOf, standingKeys } from "./keys.js";
import type { Ledger } from "./ledger.js";

export interface Census {
  readonly keys: number;
  /** Keys without expiry that are neither standing nor of a live boot nor of a task that has not ended. */
  readonly leftovers: readonly string[];
  /** Owner tokens of every open reservation. */
  readonly reservations: readonly string[];
  /** `<workspace>.<task>` of every waiter, `<list> <member>`. */
  readonly waiters: readonly string[];
  /** Tasks that have not ended. */
  readonly unfinished: readonly string[];
  /** Sums, sets and flags that differ from a recount of the records. */
  readonly miscounted: readonly string[];
  /** Scopes in which more is reserved than the limit allows. */
  readonly overcommitted: readonly string[];
}

type Fields = Record<string, string>;

interface Found {
  readonly prefix: string;
  readonly keys: readonly string[];
  readonly lasting: ReadonlySet<string>;
  readonly hashes: ReadonlyMap<string, Fields>;
  readonly sets: ReadonlyMap<string, readonly string[]>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

export async function census(ledger: Pick<Ledger, "prefix" | "connection">): Promise<Census> {
  const redis = ledger.connection("census");
  try {
    const found = await readAll(redis, ledger.prefix);
    const recount = recountOf(found);
    const unfinished = tasksOf(found).filter(({ fields }) => !ended(fields));
    return {
      keys: found.keys.length,
      leftovers: leftoversOf(found),
      reservations: [...reservationsOf(found).keys()],
      waiters: [...found.lists].flatMap(([list, members]) => members.map((member) => `${list} ${member}`)),
      unfinished: unfinished.map(({ member }) => member),
      miscounted: [...miscounts(found, recount), ...miscountedBacklogs(found), ...strays(found)],
      overcommitted: overcommitted(found, recount),
    };
  } finally {
    redis.disconnect();
  }
}

async function scanAll(redis: Redis, pattern: string): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = "0";
  do {
    const [next, page] = await redis.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
    for (const key of page) keys.add(key);
    cursor = next;
  } while (cursor !== "0");
  return [...keys].toSorted();
}

async function readAll(redis: Redis, prefix: string): Promise<Found> {
  const root = rootOf(prefix);
  const keys = await scanAll(redis, `${root}:*`);
  const types = await Promise.all(keys.map((key) => redis.type(key)));
  const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
  const of = (type: string) => keys.filter((_, index) => types[index] === type);
  const read = async <Value>(type: string, get: (key: string) => Promise<Value>) =>
    new Map(await Promise.all(of(type).map(async (key) => [key, await get(key)] as const)));
  return {
    prefix,
    keys,
    lasting: new Set(keys.filter((_, index) => lives[index] === -1)),
    hashes: await read("hash", (key) => redis.hgetall(key)),
    sets: await read("set", (key) => redis.smembers(key)),
    lists: new Map(
      [...(await read("zset", (key) => redis.zrange(key, 0, -1)))].filter(([key]) => key.includes(":waiters:")),
    ),
  };
}

function hashesOf(found: Found, kind: string): Map<string, Fields> {
  const start = `${rootOf(found.prefix)}:${kind}:`;
  const entries = [...found.hashes].filter(([key]) => key.startsWith(start));
  return new Map(entries.map(([key, fields]) => [key.slice(start.length), fields]));
}

function reservationsOf(found: Found): Map<string, Fields> {
  return hashesOf(found, "reservation");
}

function bootsOf(found: Found): [string, Fields][] {
  return [...hashesOf(found, "boot")].filter(([id]) => !id.includes(":"));
}

function ended(fields: Fields): boolean {
  return fields["status"] !== "PENDING" && fields["status"] !== "RUNNING";
}

function tasksOf(found: Found): { member: string; fields: Fields }[] {
  return [...hashesOf(found, "task")].map(([name, kept]) => {
    const fields = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== ""));
    return { member: name.replace(":", "."), fields };
  });
}

function leftoversOf(found: Found): string[] {
  const standing = standingKeys(found.prefix);
  const root = rootOf(found.prefix);
  const live = bootsOf(found).filter(([, boot]) => boot["state"] !== "DEAD");
  const ids = new Set(live.map(([id]) => id));
  const sliced = new Set(live.filter(([, boot]) => holdsSlice(boot)).map(([, boot]) => boot["host"]));
  return [...found.lasting].filter((key) => {
    const [kind = "", id = "", host = ""] = key.slice(root.length + 1).split(":");
    const isOfLiveBoot = (kind === "boot" && ids.has(id)) || (kind === "sum" && id === "host" && sliced.has(host));
    return !standing.some((form) => form.test(key)) && !isOfLiveBoot;
  });
}

function amountIn(fields: Fields): Amount {
  const read = (key: string) => Number(fields[key] ?? 0);
  return { slots: read("slots"), cpu_milli: read("cpu_milli"), memory_mb: read("memory_mb"), pids: read("pids") };
}

function sliceIn(boot: Fields): Fields {
  return { memory_mb: boot["slice_memory_mb"] ?? "0", pids: boot["slice_pids"] ?? "0" };
}

function holdsSlice(boot: Fields): boolean {
  return Object.values(sliceIn(boot)).some((amount) => amount !== "0");
}

/**
 * Sums by scope from the records alone: hosts by reservation and by slice of a boot, workspace and fleet once a task
 * that holds them.
 */
function recountOf(found: Found): Map<string, Amount> {
  const sums = new Map<string, Amount>();
  function add(scope: string, fields: Fields): void {
    const sum = sums.get(scope) ?? amountIn({});
    const more = amountIn(fields);
    sums.set(scope, {
      slots: sum.slots + more.slots,
      cpu_milli: sum.cpu_milli + more.cpu_milli,
      memory_mb: sum.memory_mb + more.memory_mb,
      pids: sum.pids + more.pids,
    });
  }
  for (const [, boot] of bootsOf(found)) if (holdsSlice(boot)) add(`host:${boot["host"]}`, sliceIn(boot));
  const tasks = new Set<string>();
  for (const fields of reservationsOf(found).values()) {
    add(`host:${fields["host"]}`, fields);
    const task = `${fields["workspace"]}.${fields["task"]}`;
    if (tasks.has(task)) continue;
    tasks.add(task);
    add(`workspace:${fields["workspace"]}`, fields);
    add("fleet:all", fields);
  }
  return sums;
}

function miscounts(found: Found, recount: Map<string, Amount>): string[] {
  const kept = hashesOf(found, "sum");
  return [...new Set([...kept.keys(), ...recount.keys()])].flatMap((scope) => {
    const [shown, counted] = [amountIn(kept.get(scope) ?? {}), amountIn(toFields(recount.get(scope)))];
    const same = AMOUNT_KEYS.every((key) => shown[key] === counted[key]);
    return same ? [] : [`sum ${scope}: kept ${JSON.stringify(shown)}, counted ${JSON.stringify(counted)}`];
  });
}

const WAITING = ["waiting_host", "waiting_workspace", "waiting_fleet"] as const;
const BACKLOG_KEYS = ["queued", "pending_bytes", ...WAITING] as const;

/** What each workspace and the fleet have accepted, from the records of tasks alone. */
function backlogsOf(found: Found): Map<string, Fields> {
  const backlogs = new Map<string, Record<string, number>>();
  for (const { member, fields } of tasksOf(found).filter(({ fields }) => !ended(fields))) {
    const counts = { pending_bytes: Number(fields["body_bytes"]), queued: fields["status"] === "PENDING" ? 1 : 0 };
    const waits = !fields["wait_scope"] ? {} : { [`waiting_${fields["wait_scope"]}`]: 1 };
    const scopes = [
      [`workspace:${member.split(".")[0]}`, counts] as const,
      ["fleet:all", { ...counts, ...waits }] as const,
    ];
    for (const [scope, more] of scopes) {
      const sum = backlogs.get(scope) ?? {};
      for (const [key, count] of Object.entries(more)) sum[key] = (sum[key] ?? 0) + count;
      backlogs.set(scope, sum);
    }
  }
  return new Map([...backlogs].map(([scope, sum]) => [scope, toFields(sum)]));
}

function miscountedBacklogs(found: Found): string[] {
  const [kept, counted] = [hashesOf(found, "backlog"), backlogsOf(found)];
  const shown = (fields: Fields | undefined) => BACKLOG_KEYS.map((key) => `${key} ${fields?.[key] ?? 0}`).join(", ");
  const listed = new Set(found.sets.get(keysOf(found.prefix).workspaces) ?? []);
  const known = [...counted.keys(), ...hashesOf(found, "limits").keys()].filter((scope) =>
    scope.startsWith("workspace:"),
  );
  return [
    ...symmetric("backlogs", new Set(kept.keys()), new Set(counted.keys())),
    ...[...counted].flatMap(([scope, fields]) => {
      const same = shown(kept.get(scope)) === shown(fields);
      return same ? [] : [`backlog ${scope}: kept ${shown(kept.get(scope))}; counted ${shown(fields)}`];
    }),
    ...symmetric("workspaces", listed, new Set(known.map((scope) => scope.slice("workspace:".length)))),
  ];
}

function toFields(amount: Amount | Record<string, number> | undefined): Fields {
  return Object.fromEntries(Object.entries(amount ?? {}).map(([key, value]) => [key, `${value}`]));
}

function overcommitted(found: Found, recount: Map<string, Amount>): string[] {
  const limits = hashesOf(found, "limits");
  return [...recount].flatMap(([scope, sum]) =>
    AMOUNT_KEYS.filter((key) => sum[key] > Number(limits.get(scope)?.[key] ?? Number.POSITIVE_INFINITY)).map(
      (key) => `${scope}: ${key} ${sum[key]} of ${limits.get(scope)?.[key]}`,
    ),
  );
}

/** Lists, sets and flags that do not agree with the records they speak of. */
function strays(found: Found): string[] {
  const keys = keysOf(found.prefix);
  const reservations = reservationsOf(found);
  const listed = new Set(found.sets.get(keys.reservations) ?? []);
  const byBoot = [...found.sets].filter(([key]) => key.endsWith(":tokens")).flatMap(([, tokens]) => tokens);
  const tasks = tasksOf(found);
  const waiting = new Map<string, number>();
  for (const member of [...found.lists.values()].flat()) waiting.set(member, (waiting.get(member) ?? 0) + 1);
  return [
    ...straysOfBoots(found),
    ...symmetric("reservations", listed, new Set(reservations.keys())),
    ...symmetric("tokens of boots", new Set(byBoot), new Set(reservations.keys())),
    ...tasks.flatMap(({ member, fields }) => {
      const lists = waiting.get(member) ?? 0;
      const waits = fields["wait_scope"] !== undefined;
      const open = [...reservations.values()].filter((of) => `${of["workspace"]}.${of["task"]}` === member).length;
      return [
        ...(lists === (waits ? 1 : 0) ? [] : [`${member} is in ${lists} lists, wait_scope ${fields["wait_scope"]}`]),
        ...(waits && fields["status"] !== "PENDING" ? [`${member} is ${fields["status"]} and waits`] : []),
        ...(Number(fields["open"]) === open ? [] : [`${member} counts ${fields["open"]} open, ${open} found`]),
      ];
    }),
  ];
}

/** Routes agree with the tasks they lead; a boot's record expires only once it is DEAD and nothing names it. */
function straysOfBoots(found: Found): string[] {
  const root = `${rootOf(found.prefix)}:boot:`;
  const of = (boot: string, set: string) => found.sets.get(`${root}${boot}:${set}`) ?? [];
  const listed = (host: string | undefined, set: string, boot: string) =>
    found.sets.get(`${rootOf(found.prefix)}:host:${host}:${set}`)?.includes(boot) ?? false;
  const routed = tasksOf(found).filter(({ fields }) => fields["status"] === "PENDING");
  return bootsOf(found).flatMap(([boot, fields]) => {
    const { state, host } = fields;
    const here = routed.filter(({ fields }) => fields["queue"] === `boot.${boot}`).map(({ member }) => member);
    const named = of(boot, "tokens").length + of(boot, "routes").length > 0 || holdsSlice(fields);
    const lasts = found.lasting.has(`${root}${boot}`);
    return [
      ...symmetric(`routes of ${boot}`, new Set(of(boot, "routes")), new Set(here)),
      ...(listed(host, "boots", boot) === (state !== "DEAD") ? [] : [`${boot} is ${state}: boots of its host`]),
      ...(listed(host, "dead", boot) === (state === "DEAD") ? [] : [`${boot} is ${state}: tombstones of its host`]),
      ...(lasts === (state !== "DEAD" || named) ? [] : [`${boot} is ${state}, named ${named}, and lasts ${lasts}`]),
    ];
  });
}

function symmetric(what: string, left: ReadonlySet<string>, right: ReadonlySet<string>): string[] {
  const only = (one: ReadonlySet<string>, other: ReadonlySet<string>) => [...one].filter((item) => !other.has(item));
  return [...only(left, right), ...only(right, left)].map((item) => `${what}: ${item} on one side only`);
}
