/** The pool of one boot: what decides about it, and how a task comes by a member of it. */
import type { Logger } from "@holdfast/chassis";
import { BOUNDS, TIMES } from "@holdfast/contract";
import { createPool, type Engine, type Pool, type PoolEvent, type RemovalReason, type Sandbox } from "@holdfast/engine";
import type { Closed, Gate } from "../boot/gate.js";
import type { Lease } from "../boot/lease.js";
import type { TokenBook } from "../boot/token-book.js";
import type { WorkerConfig } from "../config.js";
import type { Attempt } from "../run/attempt.js";
import { assignedSeconds, SET_UP_SECONDS } from "../run/creation.js";
import type { Permission } from "../run/permission.js";
import type { WorkerMetrics } from "../worker-metrics.js";
import { createDemand, type Demand } from "./demand.js";
import { keyOf, type PlannedPool, planPool } from "./pool-plan.js";
import { hasPlaces } from "./wanted.js";

export interface WarmStarts {
  readonly plan: PlannedPool;
  readonly demand: Demand;
  readonly pool: Pool;
  /** The pool holds less than before; set by whoever gives the room back. */
  onLeft(): void;
  /** A task of this worker was denied for want of room on the host: whether the pool is to yield is asked at once. */
  wanted_back: boolean;
}

export interface WarmStartsDeps {
  readonly config: WorkerConfig;
  readonly engine: Engine;
  readonly lease: Lease;
  readonly gate: Gate;
  readonly metrics: WorkerMetrics;
  readonly logger: Logger;
  readonly given_up: AbortSignal;
}

/** A boot or host on its way out of service, and an engine that is not trusted, keep no pool. */
const EMPTIES: ReadonlySet<Closed> = new Set(["engine_sick", "self_check", "draining", "host_draining", "over"]);

export function mayKeepPool(gate: Pick<Gate, "reasons">): boolean {
  return !gate.reasons.some((reason) => EMPTIES.has(reason));
}

/** A member may wait its whole time and then serve the longest of tasks. */
const LIFETIME_SECONDS =
  TIMES.pool_unassigned_ms / 1_000 + SET_UP_SECONDS + assignedSeconds(BOUNDS.timeout_seconds_max);

const TROUBLE: ReadonlySet<RemovalReason> = new Set(["ended", "doubtful"]);

function note({ metrics, logger }: Pick<WarmStartsDeps, "metrics" | "logger">, event: PoolEvent): void {
  switch (event.kind) {
    case "filled":
      metrics.pool_fill_seconds.observe(event.took_ms / 1_000);
      break;
    case "fill_failed":
      metrics.pool_fill_failures_total.add(1);
      logger.warn("pool_fill_failed", { image: event.key.image, error_code: event.error.code });
      break;
    case "hit":
      metrics.pool_claims_total.add(1, { answer: "hit" });
      metrics.pool_claim_age_seconds.observe(event.age_ms / 1_000);
      break;
    case "miss":
      metrics.pool_claims_total.add(1, { answer: "miss" });
      break;
    case "removed": {
      const { sandbox_id, why } = event;
      metrics.pool_removed_total.add(1, { why });
      logger[TROUBLE.has(why) ? "warn" : "info"]("pool_member_removed", { sandbox_id, why });
      break;
    }
    case "left":
      break;
  }
}

export function openWarmStarts(deps: WarmStartsDeps): WarmStarts {
  const { config, engine, lease, gate, logger } = deps;
  const plan = planPool(config, engine);
  for (const image of plan.absent) logger.warn("pool_image_not_offered", { image });
  const pool = createPool({
    create: engine.create,
    lifetime_seconds: LIFETIME_SECONDS,
    permission: () => lease.permissionMs(),
    mayFill: () => lease.mayAct() && mayKeepPool(gate),
    stop: deps.given_up,
    onEvent: (event) => {
      note(deps, event);
      if (event.kind === "left") warm.onLeft();
    },
  });
  const warm: WarmStarts = { plan, pool, demand: createDemand(), onLeft: () => {}, wanted_back: false };
  return warm;
}

interface Claiming {
  readonly engine: Pick<Engine, "images">;
  readonly lease: Pick<Lease, "now">;
  readonly tokens: Pick<TokenBook, "serve">;
  readonly warm: WarmStarts;
}

/** A member that waits under exactly the request's terms, from now on this attempt's; null where there is none. */
export async function claimWarm(
  boot: Claiming,
  { grant, request }: Pick<Attempt, "grant" | "request">,
  permission: Permission,
): Promise<Sandbox | null> {
  const { plan, demand, pool } = boot.warm;
  if (!hasPlaces(plan)) return null;
  const key = keyOf(boot.engine.images, request);
  if (key === null) return null;
  demand.note(key, boot.lease.now());
  return pool.claim({
    key,
    permission: permission.ask,
    onServing: (sandbox_id) => {
      // Whatever it was told while it waited ends no later than this.
      permission.ask();
      boot.tokens.serve(grant.owner_token, sandbox_id);
    },
  });
}
