/** Boots in the ledger: their lives, leases and doorbells. */
import { amountSchema, HoldfastError, type OwnerToken, ownerTokenSchema } from "@holdfast/contract";
import type { Caller } from "./caller.js";
import { idPart, type Keys } from "./keys.js";
import type { BeatReply, BootRegistration, BootStore, RegisterReply } from "./ledger.js";
import { amountOf, amountText, list, type Reply, tagOf, text } from "./replies.js";
import type { Subscriber } from "./subscriber.js";

export interface BootStoreDeps {
  readonly caller: Caller;
  readonly keys: Keys;
  readonly subscriber: Subscriber;
  readonly lease_ms: number;
}

export function createBootStore(deps: BootStoreDeps): BootStore {
  const { caller, keys, subscriber, lease_ms } = deps;
  return {
    register: (registration) => register(deps, registration),
    beat: async (call): Promise<BeatReply> => {
      const { counter, fence_seen, engine_healthy, held } = call;
      const args = [idPart(call.boot_id), counter, fence_seen ?? "", engine_healthy ? 1 : 0, ...held.map(idPart)];
      const reply = list(await caller.run("boot-beat", args));
      const kind = tagOf(reply, ["ok", "unknown", "dead"]);
      if (kind !== "ok") return { kind };
      const [, draining, cancelled, unknown, missing] = reply;
      return {
        ...{ kind, lease_ms, draining: draining === "1" },
        ...{ cancelled: tokens(cancelled), unknown: tokens(unknown), missing: tokens(missing) },
      };
    },
    drain: async (boot_id) => {
      await caller.run("boot-drain", [idPart(boot_id)]);
    },
    retire: async (boot_id) => {
      const reply = list(await caller.run("boot-retire", [idPart(boot_id)]));
      const kind = tagOf(reply, ["retired", "holds"]);
      return kind === "retired" ? { kind } : { kind, tokens: tokens(reply.slice(1)) };
    },
    onBell: (boot_id, ring) => subscriber.subscribe(keys.bell(boot_id), ring),
  };
}

function tokens(reply: Reply | undefined): OwnerToken[] {
  return list(reply).map((token) => ownerTokenSchema.parse(token));
}

async function register(deps: BootStoreDeps, registration: BootRegistration): Promise<RegisterReply> {
  const { limits, default_limits, images, runtimes } = registration;
  const wanted = limits === null ? "" : amountText(checkedAmount(limits));
  const reply = list(
    await deps.caller.run("boot-register", [
      ...[idPart(registration.boot_id), idPart(registration.host_id)],
      ...[registration.engine_version, registration.program_version, wanted],
      ...[amountText(checkedAmount(default_limits)), runtimes.length, ...runtimes],
      ...images.flatMap(({ image, digest }) => [image, digest]),
    ]),
  );
  const kind = tagOf(reply, ["registered", "limits_differ", "image_differs"]);
  switch (kind) {
    case "registered":
      return { kind, limits: amountOf(reply[1]), lease_ms: deps.lease_ms };
    case "limits_differ":
      return { kind, recorded: amountOf(reply[1]), offered: checkedAmount(limits ?? default_limits) };
    case "image_differs":
      return { kind, image: text(reply[1]), recorded: text(reply[2]), offered: text(reply[3]) };
  }
}

function checkedAmount(amount: unknown) {
  const parsed = amountSchema.safeParse(amount);
  if (parsed.success) return parsed.data;
  throw new HoldfastError("INVALID_REQUEST", { field: "limits", message: "Limits are whole numbers." });
}
