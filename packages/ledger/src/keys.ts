/** Names of all keys, twin of scripts/include/keys.lua: a test holds both equal. All keys share one hash tag. */
import { type BootId, HoldfastError, type ScopeKind } from "@holdfast/contract";

/** The fleet's own scope has this id. */
export const FLEET_SCOPE_ID = "all";

const ID_PART = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The queue that this boot alone consumes: the route of a task that was sent to it. */
export function bootQueue(boot_id: BootId): string {
  return `boot.${idPart(boot_id)}`;
}

/** Ids become parts of keys: whatever is not of their grammar is refused before it reaches Redis (W1). */
export function idPart(id: string): string {
  if (!ID_PART.test(id)) throw new HoldfastError("INVALID_REQUEST", { message: "An id is not of the grammar of ids." });
  return id;
}

export function rootOf(prefix: string): string {
  return `{${prefix}}`;
}

export function keysOf(prefix: string) {
  const root = rootOf(prefix);
  const ofTask = (suffix: string) => (workspace: string, task: string) =>
    `${root}:task:${idPart(workspace)}:${idPart(task)}${suffix}`;
  const ofOne = (kind: string, suffix: string) => (id: string) => `${root}:${kind}:${idPart(id)}${suffix}`;
  const ofScope = (kind: string) => (scope: ScopeKind, id: string) => `${root}:${kind}:${scope}:${idPart(id)}`;
  return {
    fleet: `${root}:fleet`,
    fence: `${root}:fence`,
    hosts: `${root}:hosts`,
    reservations: `${root}:reservations`,
    pending: `${root}:pending`,
    healing: `${root}:healing`,
    waiting: `${root}:waiting`,
    /** Workspaces that have limits or unfinished tasks. */
    workspaces: `${root}:workspaces`,
    /** Workspaces that may have records. */
    retained: `${root}:retained`,
    task: ofTask(""),
    body: ofTask(":body"),
    events: ofTask(":events"),
    logs: ofTask(":logs"),
    marks: ofTask(":marks"),
    output: ofTask(":output"),
    followers: ofTask(":followers"),
    /** Channel of a task's events. */
    news: ofTask(":news"),
    index: ofOne("index", ""),
    /** Tasks that ended, by when, and so in which order they may be removed. */
    ended: ofOne("ended", ""),
    reservation: ofOne("reservation", ""),
    gone: ofOne("gone", ""),
    boot: ofOne("boot", ""),
    boot_tokens: ofOne("boot", ":tokens"),
    boot_missing: ofOne("boot", ":missing"),
    /** PENDING tasks whose route is the boot's own queue. */
    boot_routes: ofOne("boot", ":routes"),
    /** Channel that wakes a boot. */
    bell: ofOne("boot", ":bell"),
    host: ofOne("host", ""),
    /** Those that are not DEAD; tombstones are kept apart, since every admit asks for these. */
    host_boots: ofOne("host", ":boots"),
    host_dead: ofOne("host", ":dead"),
    host_images: ofOne("host", ":images"),
    /** Of each image that was looked at: what its check found, or why it is not offered. */
    host_image_notes: ofOne("host", ":image-notes"),
    host_runtimes: ofOne("host", ":runtimes"),
    sum: ofScope("sum"),
    limits: ofScope("limits"),
    /** Of a workspace or the fleet: what it has accepted that has not ended. */
    backlog: ofScope("backlog"),
    waiters: ofScope("waiters"),
  };
}

export type Keys = ReturnType<typeof keysOf>;

/** The closed list of keys that may stand without expiry when nothing runs and nobody lives (Q1). */
export function standingKeys(prefix: string): readonly RegExp[] {
  const root = rootOf(prefix).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const hosts = ["hosts", "host:[^:]+", "host:[^:]+:(boots|dead|images|image-notes|runtimes)"];
  const forms = ["fleet", "fence", ...hosts, "limits:[^:]+:[^:]+", "workspaces", "retained"];
  return forms.map((form) => new RegExp(`^${root}:${form}$`));
}
