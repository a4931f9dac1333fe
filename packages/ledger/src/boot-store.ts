/** Boots in the ledger: their lives, leases and doorbells. */
import {
  amountSchema,
  BOUNDS,
  type BootId,
  bootIdSchema,
  byteLength,
  HoldfastError,
  hostIdSchema,
  type OwnerToken,
  ownerTokenSchema,
  type PoolKeyView,
  poolKeyViewSchema,
  sliceSchema,
} from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { noteText } from "./image-notes.js";
import { idPart, type Keys } from "./keys.js";
import type {
  BeatCall,
  BeatReply,
  BootRegistration,
  BootSight,
  BootStore,
  BuryReply,
  Delivery,
  FreeReply,
  FreeRight,
  RecoverReply,
  RegisterReply,
  SliceCall,
  SliceReply,
} from "./ledger.js";
import {
  amountOf,
  amountText,
  deliveryOf,
  list,
  nameOf,
  promotionsOf,
  type Reply,
  tagOf,
  text,
  whole,
} from "./replies.js";
import type { Subscriber } from "./subscriber.js";
import { endsOfGivingBack, requeuedEvent } from "./task-failures.js";

const STEP_MAX = 1_000;

export interface BootStoreDeps {
  readonly caller: Caller;
  readonly keys: Keys;
  readonly subscriber: Subscriber;
  readonly lease_ms: number;
}

export function createBootStore(deps: BootStoreDeps): BootStore {
  const { caller, keys, subscriber } = deps;
  return {
    register: (registration) => register(deps, registration),
    beat: (call) => beat(deps, call),
    drain: async (boot_id) => {
      await caller.run("boot-drain", [idPart(boot_id)]);
    },
    retire: async (boot_id) => {
      const reply = list(await caller.run("boot-retire", [idPart(boot_id)]));
      const kind = tagOf(reply, ["retired", "holds"]);
      return kind === "retired" ? { kind } : { kind, tokens: tokens(reply.slice(1)) };
    },
    look: async () => list(await caller.run("boot-look", [])).map(sightOf),
    bury: async (boot_id, seen_counter): Promise<BuryReply> => {
      const reply = list(await caller.run("boot-bury", [idPart(boot_id), seen_counter]));
      const kind = tagOf(reply, ["buried", "already", "alive", "unknown"]);
      return kind === "alive" || kind === "unknown" ? { kind } : { kind, promotions: promotionsOf(reply[1]) };
    },
    recover: (boot_id, limit) => recover(caller, boot_id, limit),
    free: (boot_id, right) => free(caller, boot_id, right),
    setSlice: (call) => setSlice(caller, call),
    reroute: async (boot_id, limit) => deliveriesOf(await caller.run("boot-reroute", [idPart(boot_id), atOnce(limit)])),
    onBell: (boot_id, ring) => subscriber.subscribe(keys.bell(boot_id), ring),
  };
}

function tokens(reply: Reply | undefined): OwnerToken[] {
  return list(reply).map((token) => ownerTokenSchema.parse(token));
}

async function beat({ caller, lease_ms }: BootStoreDeps, call: BeatCall): Promise<BeatReply> {
  const { counter, fence_seen, engine_healthy, failed_checks = [], held } = call;
  const strangers = call.strange_sandboxes?.slice(0, STEP_MAX);
  const named = strangers?.flatMap(({ sandbox_id, pool_of }) => [idPart(sandbox_id), pool_of ? idPart(pool_of) : ""]);
  const reply = list(
    await caller.run("boot-beat", [
      ...[idPart(call.boot_id), counter, fence_seen ?? "", engine_healthy ? 1 : 0, failed_checks.join(",")],
      ...[strangers?.length ?? "", ...(named ?? []), ...held.map(idPart)],
    ]),
  );
  const kind = tagOf(reply, ["ok", "unknown", "dead"]);
  if (kind !== "ok") return { kind };
  const [, draining, host_draining, cancelled, unknown, missing] = reply;
  return {
    ...{ kind, lease_ms, draining: draining === "1", host_draining: host_draining === "1" },
    ...{ cancelled: tokens(cancelled), unknown: tokens(unknown), missing: tokens(missing) },
  };
}

/** One step takes no longer than others may wait for Redis. */
function atOnce(limit: number): number {
  return Math.max(1, Math.min(Math.trunc(limit), STEP_MAX));
}

function sightOf(reply: Reply): BootSight {
  const [boot, host, state, counter, ended, dead, reservations, slice] = list(reply);
  return {
    boot_id: bootIdSchema.parse(boot),
    host_id: hostIdSchema.parse(host),
    state: tagOf([text(state)], ["LIVE", "DRAINING", "DEAD"]),
    counter: whole(counter),
    lease_ended: ended === "1",
    dead_ms: dead === "" ? null : whole(dead),
    reservations: whole(reservations),
    holds_slice: slice === "1",
  };
}

async function free(caller: Caller, boot_id: BootId, right: FreeRight): Promise<FreeReply> {
  const proven = right.kind === "bound" ? "bound" : right.all_gone ? "all_gone" : "some_gone";
  const sandboxes = right.kind === "proof" ? right.sandbox_ids.map(idPart) : [];
  const [promotions, left, slice] = list(await caller.run("boot-free", [idPart(boot_id), proven, ...sandboxes]));
  return { promotions: promotionsOf(promotions), left: whole(left), slice_freed: slice === "1" };
}

async function setSlice(caller: Caller, { boot_id, report, ...slice }: SliceCall): Promise<SliceReply> {
  const parsed = sliceSchema.safeParse(slice);
  if (!parsed.success) throw invalid("slice", "A slice is whole numbers.");
  const { memory_mb, pids } = parsed.data;
  const reply = list(await caller.run("pool-slice", [idPart(boot_id), memory_mb, pids, reportText(report)]));
  const kind = tagOf(reply, ["set", "fenced"]);
  if (kind === "fenced") return { kind };
  const [, memory, processes, wanted_back, promotions] = reply;
  return {
    ...{ kind, memory_mb: whole(memory), pids: whole(processes), yield: wanted_back === "1" },
    promotions: promotionsOf(promotions),
  };
}

/** As many entries as fit. */
function reportText(report: readonly PoolKeyView[]): string {
  const entries = report.map((entry) => JSON.stringify(poolKeyViewSchema.parse(entry)));
  let bytes = 2;
  const kept = entries.filter((entry) => {
    bytes += byteLength(entry) + 1;
    return bytes <= BOUNDS.pool_report_bytes_max;
  });
  return `[${kept.join(",")}]`;
}

function deliveriesOf(reply: Reply | undefined): Delivery[] {
  return list(reply).map((entry) => {
    const [workspace, task, ...delivery] = list(entry);
    return deliveryOf(nameOf(workspace, task), delivery);
  });
}

async function recover(caller: Caller, boot_id: BootId, limit: number): Promise<RecoverReply> {
  const reason = "worker_died";
  const args = [idPart(boot_id), atOnce(limit), requeuedEvent(reason), ...endsOfGivingBack(reason)];
  const [requeued, settled, promotions, left] = list(await caller.run("boot-recover", args));
  return {
    requeued: deliveriesOf(requeued),
    settled: list(settled).map((entry) => nameOf(list(entry)[0], list(entry)[1])),
    promotions: promotionsOf(promotions),
    left: whole(left),
  };
}

async function register(deps: BootStoreDeps, registration: BootRegistration): Promise<RegisterReply> {
  const { limits, default_limits, images, refused_images: refused = [], runtimes } = registration;
  const wanted = limits === null ? "" : amountText(checkedAmount(limits));
  const reply = list(
    await deps.caller.run("boot-register", [
      ...[idPart(registration.boot_id), idPart(registration.host_id)],
      ...[registration.engine_version, registration.program_version, wanted],
      ...[amountText(checkedAmount(default_limits)), runtimes.length, ...runtimes],
      ...images.flatMap(({ image, digest, holds }) => [image, digest, noteText({ holds })]),
      ...refused.flatMap(({ image, ...refusal }) => [image, "", noteText({ refusal })]),
    ]),
  );
  const kind = tagOf(reply, ["registered", "limits_differ", "image_differs"]);
  switch (kind) {
    case "registered":
      return { kind, limits: amountOf(reply[1]), lease_ms: deps.lease_ms, promotions: promotionsOf(reply[2]) };
    case "limits_differ":
      return { kind, recorded: amountOf(reply[1]), offered: checkedAmount(limits ?? default_limits) };
    case "image_differs":
      return { kind, image: text(reply[1]), recorded: text(reply[2]), offered: text(reply[3]) };
  }
}

function checkedAmount(amount: unknown) {
  const parsed = amountSchema.safeParse(amount);
  if (parsed.success) return parsed.data;
  throw invalid("limits", "Limits are whole numbers.");
}

function invalid(field: string, message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", { field, message });
}
