/** The sweep on a real engine: containers in every state, with and without an owner (E1, E2). */
import { drawBootId, drawFleetId, drawSandboxId, type FleetId } from "@holdfast/contract";
import { afterEach, describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { expectFleetGone, openTestEngine, type TestEngine, worldSocket } from "../support/engine-fixture.js";

const open: TestEngine[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function setup(fleet_id?: FleetId): Promise<TestEngine> {
  const world = await openTestEngine(fleet_id === undefined ? {} : { fleet_id });
  open.push(world);
  return world;
}

const nobody = { dead_boots: new Set<string>(), held: new Set<string>() };
const STATES = ["created", "running", "paused", "exited"] as const;
type State = (typeof STATES)[number];

interface Left {
  readonly fleet: string;
  readonly boot: string;
  readonly state: State;
  readonly lifetime_seconds?: number;
}

/** A container as a worker that died would have left it. */
async function leave({ fleet, boot, state, lifetime_seconds = 3600 }: Left): Promise<string> {
  const sandbox = drawSandboxId();
  const ask = (path: string, body?: unknown) => engineAsk(worldSocket(), "POST", path, body);
  const { Id } = (await ask(`/containers/create?name=holdfast-${boot}-${sandbox}-1`, {
    Image: "holdfast/shell:1",
    Cmd: state === "exited" ? ["true"] : ["sleep", "3600"],
    StopTimeout: 0,
    Labels: {
      "holdfast.fleet": fleet,
      "holdfast.host": "host_1",
      "holdfast.boot": boot,
      "holdfast.sandbox": sandbox,
      "holdfast.lifetime_seconds": String(lifetime_seconds),
      "holdfast.purpose": "task",
    },
    HostConfig: { NetworkMode: "none" },
  })) as { Id: string };
  if (state !== "created") await ask(`/containers/${Id}/start`);
  if (state === "paused") await ask(`/containers/${Id}/pause`);
  if (state === "exited") await ask(`/containers/${Id}/wait`);
  return sandbox;
}

async function left(world: TestEngine): Promise<string[]> {
  return (await world.engine.list()).map(({ sandbox_id }) => sandbox_id).toSorted();
}

describe("sweep", () => {
  it.each(STATES)("removes what this boot made and nobody holds, when %s (E1)", async (state) => {
    const world = await setup();
    await leave({ fleet: world.engine.fleet_id, boot: world.engine.boot_id, state });

    expect(await world.engine.sweep(nobody)).toEqual({ seen: 1, removed: 1, failed: 0, stuck: 0, strange: [] });
    expect(await left(world)).toEqual([]);
  });

  it("removes a DEAD boot's containers in every state, and touches no other boot's (E2)", async () => {
    const world = await setup();
    const fleet = world.engine.fleet_id;
    const [dead, living] = [drawBootId(), drawBootId()];
    for (const state of STATES) await leave({ fleet, boot: dead, state });
    const kept = [];
    for (const state of STATES) kept.push(await leave({ fleet, boot: living, state }));

    const counts = await world.engine.sweep({ ...nobody, dead_boots: new Set([dead]) });

    expect(counts).toMatchObject({ seen: 8, removed: 4, failed: 0, stuck: 0 });
    expect(
      counts.strange.map(({ sandbox_id }) => sandbox_id).toSorted(),
      "what is alive and held by nobody here",
    ).toEqual(kept.slice(1, 3).toSorted());
    expect(await left(world)).toEqual(kept.toSorted());
    await world.engine.sweep({ ...nobody, dead_boots: new Set([living]) });
  });

  it("keeps what is held or under way, also while it is being created", async () => {
    const world = await setup();
    const creating = world.engine.create(world.spec());
    const reply = await sweepUntil(world, creating);

    expect(reply.kind).toBe("ready");
    if (reply.kind === "ready") {
      await reply.sandbox.ping();
      await reply.sandbox.destroy();
    }
  });

  it("removes a container past its lifetime by the engine's own clock, whoever made it (E4)", async () => {
    const world = await setup();
    const young = {
      fleet: world.engine.fleet_id,
      boot: drawBootId(),
      state: "running",
      lifetime_seconds: 3600,
    } as const;
    const kept = await leave(young);
    await leave({ ...young, lifetime_seconds: 1 });

    const counts = await untilSwept(world);

    expect(counts).toMatchObject({ removed: 1, failed: 0 });
    expect(await left(world)).toEqual([kept]);
    await world.engine.sweep({ ...nobody, dead_boots: new Set([young.boot]) });
  });

  it("of one fleet does not see another's containers", async () => {
    const world = await setup();
    const stranger = drawFleetId();
    await leave({ fleet: stranger, boot: world.engine.boot_id, state: "running" });

    expect(await world.engine.sweep(nobody)).toEqual({ seen: 0, removed: 0, failed: 0, stuck: 0, strange: [] });

    const other = await setup(stranger);
    expect(await other.engine.sweep({ ...nobody, dead_boots: new Set([world.engine.boot_id]) })).toMatchObject({
      removed: 1,
    });
    await expectFleetGone(stranger);
  });
});

/** Sweeps without pause, as a worker that holds nothing, until `creating` is done. */
async function sweepUntil<T>(world: TestEngine, creating: Promise<T>): Promise<T> {
  let done = false;
  void creating.finally(() => {
    done = true;
  });
  while (!done) expect(await world.engine.sweep(nobody)).toMatchObject({ removed: 0 });
  return creating;
}

async function untilSwept(world: TestEngine) {
  for (;;) {
    const counts = await world.engine.sweep(nobody);
    if (counts.removed > 0) return counts;
  }
}
