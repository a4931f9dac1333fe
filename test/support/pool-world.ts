/**
 * A pool over an engine in memory, moved by chance: claims of several kinds, deaths, an engine that restarts or is
 * away, changed wishes, sweeps beside it, and a drain. Removal and sweep are the real ones; the link of a sandbox
 * answers while its container runs. The world knows who holds what, and notes whatever must not be.
 */
import { pause } from "@holdfast/chassis";
import { type BootId, drawBootId, drawFleetId, drawHostId, type SandboxId, taskError } from "@holdfast/contract";
import {
  type CreateReply,
  createPool,
  fitsInto,
  NO_ROOM,
  type Pool,
  type PoolKey,
  type PoolRoom,
  poolKeyText,
  roomFor,
  type Sandbox,
  type SandboxEnd,
  type SandboxSpec,
  sumOfRooms,
} from "@holdfast/engine";
import { createContainer, startContainer } from "../../packages/engine/src/container-calls.js";
import { containerName, LABELS, labelsOf } from "../../packages/engine/src/container-name.js";
import { endSandboxContainers } from "../../packages/engine/src/container-removal.js";
import { connectionOver } from "../../packages/engine/src/engine-connection.js";
import { EngineAway } from "../../packages/engine/src/engine-failure.js";
import { createSweeper } from "../../packages/engine/src/sweep.js";
import type { Chance } from "./chance.js";
import { createFakeEngine, type FakeContainer, type FakeEffect, type Trouble } from "./fake-engine.js";
import { sweepHost } from "./sweep-host.js";

const key = (memory_mb: number): PoolKey => ({
  image: "holdfast/shell:1",
  image_digest: "sha256:1",
  resources: { cpu: 1, memory_mb, disk_mb: 16, pids_limit: 16 },
  runtime: "runc",
});
export const KINDS = [key(64), key(128)] as const;
const UNKNOWN = key(96);
const SLICE: PoolRoom = sumOfRooms([KINDS[0], KINDS[0], KINDS[1]].map(({ resources }) => roomFor(resources)));

/** One that lives: its key, and how its link ends. */
interface Live {
  readonly spec: SandboxSpec;
  readonly text: string;
  end(end: SandboxEnd): void;
}

export interface PoolWorld {
  readonly pool: Pool;
  /** What must not be, in words. */
  readonly wrong: readonly string[];
  readonly counts: Record<"claims" | "hits" | "deaths" | "restarts" | "drains" | "swept", number>;
  stir(): void;
  /** Nothing goes wrong any more, nobody wants anything: all claims end, and the pool drains. */
  rest(): Promise<void>;
  /** Containers that are left, in words. */
  left(): string[];
}

function troubleFor(verb: string, chance: Chance, isAway: boolean): Trouble {
  if (isAway) return { fate: "unreachable" };
  return {
    ...(chance.once(0.4) ? { delay_ms: chance.below(400) } : {}),
    ...(chance.once(verb === "list" ? 0.01 : 0.04) ? { fate: chance.pick(["busy", "reply_lost"] as const) } : {}),
    ...(chance.once(0.1) ? { removal_ms: chance.below(1_500) } : {}),
  };
}

class World implements PoolWorld {
  readonly counts = { claims: 0, hits: 0, deaths: 0, restarts: 0, drains: 0, swept: 0 };
  readonly wrong: string[] = [];
  readonly pool: Pool;
  readonly #chance: Chance;
  readonly #boot_id: BootId = drawBootId();
  readonly #fleet_id = drawFleetId();
  readonly #live = new Map<string, Live>();
  /** Sandboxes that a claim got, until its run has proven them gone. */
  readonly #serving = new Set<string>();
  readonly #claimed = new Set<string>();
  readonly #runs = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #engine;
  readonly #connection;
  #room = NO_ROOM;
  #away = false;
  #resting = false;

  constructor(chance: Chance) {
    this.#chance = chance;
    this.#engine = createFakeEngine({
      now: () => Date.now(),
      trouble: (verb) => (this.#resting ? {} : troubleFor(verb, chance, this.#away)),
      onEffect: (effect) => this.#judge(effect),
    });
    this.#connection = connectionOver(this.#engine.caller("pool"));
    this.pool = createPool({
      create: (spec) => this.#create(spec),
      lifetime_seconds: 3_600,
      permission: () => 60_000,
      mayFill: () => !this.#away,
      stop: this.#stop.signal,
      onEvent: () => {},
    });
  }

  #judge({ kind, container, by }: FakeEffect): void {
    const sandbox_id = container.labels[LABELS.sandbox] ?? "";
    if (by !== "sweep" || kind === "created") return;
    this.counts.swept += 1;
    if (this.#holds(sandbox_id)) this.wrong.push(`E2: a sweep ${kind} a sandbox that is held`);
  }

  #holds(sandbox_id: string): boolean {
    return this.pool.holds(sandbox_id) || this.#serving.has(sandbox_id);
  }

  #stateOf(sandbox_id: string): FakeContainer["state"] | null {
    const found = this.#engine.containers().find(({ labels }) => labels[LABELS.sandbox] === sandbox_id);
    return found?.state ?? null;
  }

  async #create(spec: SandboxSpec): Promise<CreateReply> {
    const { sandbox_id, purpose, lifetime_seconds, resources } = spec;
    if (purpose === "pool" && !fitsInto(this.pool.room(), this.#room))
      this.wrong.push("E1: more is made than there is room");
    const identity = { fleet_id: this.#fleet_id, host_id: drawHostId(), boot_id: this.#boot_id, sandbox_id };
    const body = { Labels: labelsOf({ ...identity, purpose, lifetime_seconds }) };
    const made = await createContainer(this.#connection, containerName(this.#boot_id, sandbox_id, 1), body);
    const started = made.kind === "ok" ? await startContainer(this.#connection, made.value.id, 10_000) : made;
    if (started.kind === "failed" || this.#stateOf(sandbox_id) !== "running") return this.#failed(sandbox_id);
    const text = poolKeyText({ ...KINDS[0], resources });
    return { kind: "ready", sandbox: this.#open(spec, text) };
  }

  #failed(sandbox_id: SandboxId): CreateReply {
    const cleanup = this.#untilGone(sandbox_id);
    return { kind: "failed", failure: { error: taskError("ENGINE_UNAVAILABLE"), hand_back: true, tries: 1, cleanup } };
  }

  async #untilGone(sandbox_id: SandboxId) {
    for (;;) {
      const receipt = await endSandboxContainers(this.#connection, sandbox_id, null);
      if (receipt.proven) return receipt;
      await pause(500);
    }
  }

  #open(spec: SandboxSpec, text: string): Sandbox {
    const { sandbox_id } = spec;
    let end: Live["end"] = () => {};
    const ended = new Promise<SandboxEnd>((resolve) => {
      end = resolve;
    });
    this.#live.set(sandbox_id, { spec, text, end });
    const sandbox: Partial<Sandbox> = {
      sandbox_id,
      ended,
      ping: async () => {
        await pause(this.#chance.once(0.05) ? 600 : this.#chance.below(3));
        if (this.#stateOf(sandbox_id) !== "running") throw new Error("the link ended");
      },
      destroy: async () => {
        end({ kind: "destroyed" });
        const receipt = await endSandboxContainers(this.#connection, sandbox_id, null);
        if (receipt.proven) this.#live.delete(sandbox_id);
        return receipt;
      },
    };
    return sandbox as Sandbox;
  }

  async #claim(wanted: PoolKey): Promise<void> {
    this.counts.claims += 1;
    const onServing = (sandbox_id: SandboxId): void => {
      if (this.#claimed.has(sandbox_id)) this.wrong.push("one sandbox was handed out twice");
      this.#claimed.add(sandbox_id);
      this.#serving.add(sandbox_id);
    };
    const sandbox = await this.pool.claim({ key: wanted, permission: () => 30_000, onServing });
    if (sandbox === null) return;
    this.counts.hits += 1;
    const live = this.#live.get(sandbox.sandbox_id);
    if (live?.text !== poolKeyText(wanted)) this.wrong.push("a sandbox of another kind, or one already destroyed");
    if (live?.spec.permission() !== 30_000) this.wrong.push("it lives by another permission than its run's");
    if (this.pool.holds(sandbox.sandbox_id)) this.wrong.push("the pool holds what it handed out");
    await pause(this.#chance.below(300));
    while (!(await sandbox.destroy()).proven) await pause(500);
    this.#serving.delete(sandbox.sandbox_id);
  }

  #kill(container: FakeContainer): void {
    if (container.state !== "running") return;
    this.counts.deaths += 1;
    this.#engine.put(container.id, "exited");
    const live = this.#live.get(container.labels[LABELS.sandbox] ?? "");
    // The end is explained a while after the link was cut.
    void pause(this.#chance.below(2_000)).then(() => live?.end({ kind: "guest_lost", detail: "", oom_killed: null }));
  }

  async #restart(): Promise<void> {
    this.counts.restarts += 1;
    this.#away = true;
    for (const container of this.#engine.containers()) this.#kill(container);
    await pause(this.#chance.below(3_000));
    this.#away = false;
  }

  #run(work: Promise<void>): void {
    const run = work
      .catch((error: unknown) => void this.wrong.push(String(error)))
      .finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  async #sweep(): Promise<void> {
    const connection = connectionOver(this.#engine.caller("sweep"));
    const host = sweepHost({ connection, fleet_id: this.#fleet_id, boot_id: this.#boot_id });
    const held = { has: (sandbox_id: string) => this.#holds(sandbox_id) };
    try {
      await createSweeper(host).sweep({ dead_boots: new Set(), held });
    } catch (error) {
      if (!(error instanceof EngineAway)) throw error;
    }
  }

  #wish(): void {
    const [small, large] = KINDS;
    const targets = this.#chance.pick([
      [
        { key: small, count: 2 },
        { key: large, count: 1 },
      ],
      [{ key: small, count: 3 }],
      [{ key: large, count: 2 }],
      [],
    ]);
    this.#room = targets.length === 0 ? NO_ROOM : SLICE;
    this.pool.steer(targets, this.#room);
  }

  stir(): void {
    const chance = this.#chance;
    if (chance.once(0.3)) this.#wish();
    for (let count = chance.below(4); count > 0; count -= 1)
      this.#run(this.#claim(chance.pick([...KINDS, ...KINDS, UNKNOWN])));
    const container = chance.maybe(this.#engine.containers());
    if (container !== null && chance.once(0.3)) this.#kill(container);
    if (chance.once(0.08)) this.#run(this.#restart());
    if (chance.once(0.2)) this.#run(this.#sweep());
  }

  async rest(): Promise<void> {
    this.counts.drains += 1;
    this.#run(this.#claim(this.#chance.pick(KINDS)));
    const drained = this.pool.drain();
    this.#run(this.#claim(this.#chance.pick(KINDS)));
    while (this.#runs.size > 0) await Promise.all(this.#runs);
    this.#resting = true;
    this.#away = false;
    await drained;
  }

  left(): string[] {
    return this.#engine.containers().map(({ state, labels }) => `${state} ${labels[LABELS.purpose]}`);
  }
}

export function createPoolWorld(chance: Chance): PoolWorld {
  return new World(chance);
}
