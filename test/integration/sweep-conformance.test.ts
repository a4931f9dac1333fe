/** The engine in memory behaves as the real one does, where our sweep looks; so what holds over it holds. */
import { drawBootId, drawFleetId, drawHostId, drawSandboxId } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import {
  createContainer,
  killContainer,
  listContainers,
  removeContainer,
} from "../../packages/engine/src/container-calls.js";
import { containerName, LABELS, labelsOf } from "../../packages/engine/src/container-name.js";
import { endContainer } from "../../packages/engine/src/container-removal.js";
import { connectionOver, createEngineConnection } from "../../packages/engine/src/engine-connection.js";
import { createSweeper } from "../../packages/engine/src/sweep.js";
import { expectFleetGone, worldSocket } from "../support/engine-fixture.js";
import { createFakeEngine, type Trouble } from "../support/fake-engine.js";
import { type SweepSubject, sweepConformance } from "../support/sweep-conformance.js";
import { sweepHost } from "../support/sweep-host.js";
import { waitFor } from "../support/wait-for.js";

/** Apart from ours, as an engine's clock may be. */
const CLOCK_APART_MS = 7_777_777;

async function openReal(): Promise<SweepSubject> {
  const connection = createEngineConnection(worldSocket());
  const fleet_id = drawFleetId();
  return {
    connection,
    fleet_id,
    async close() {
      const left = await listContainers(connection, [`${LABELS.fleet}=${fleet_id}`]);
      const rows = left.kind === "ok" ? left.value : [];
      await Promise.all(rows.map(({ id, state }) => endContainer(connection, id, state)));
      await expectFleetGone(fleet_id);
    },
  };
}

async function openFake(): Promise<SweepSubject> {
  const engine = createFakeEngine({ now: () => Date.now() + CLOCK_APART_MS });
  return { connection: connectionOver(engine.caller("us")), fleet_id: drawFleetId(), close: async () => {} };
}

describe("the engine in memory", () => sweepConformance(openFake));
describe("the real engine", () => sweepConformance(openReal));

/** One container in an engine that gives each kind of call the trouble set for it, until that is unset. */
async function inTrouble(first: Readonly<Record<string, Trouble>> = {}) {
  const trouble = new Map(Object.entries(first));
  let now_ms = 1_800_000_000_000;
  const engine = createFakeEngine({ now: () => now_ms, trouble: (verb) => trouble.get(verb) ?? {} });
  const connection = connectionOver(engine.caller("us"));
  const [fleet_id, boot_id, sandbox_id] = [drawFleetId(), drawBootId(), drawSandboxId()];
  const name = containerName(boot_id, sandbox_id, 1);
  const identity = { fleet_id, boot_id, sandbox_id, host_id: drawHostId(), lifetime_seconds: 60 };
  const body = { Labels: labelsOf({ ...identity, purpose: "task" }) };
  const created = await createContainer(connection, name, body);
  const { sweep } = createSweeper(sweepHost({ connection, fleet_id, boot_id }));
  return {
    trouble,
    engine,
    connection,
    created,
    create: () => createContainer(connection, name, body),
    sweep: () => sweep({ dead_boots: new Set<string>(), held: new Set<string>() }),
    id: engine.containers()[0]?.id ?? "",
    pass: (ms: number) => {
      now_ms += ms;
    },
  };
}

describe("the engine in memory, where a real one cannot be made to fail", () => {
  it("makes a container although the reply is lost, and the sweep finds it (E1)", async () => {
    const { created, create, sweep, trouble } = await inTrouble({ create: { fate: "reply_lost" } });
    trouble.clear();

    expect(created).toMatchObject({ kind: "failed", failure: { kind: "dropped" } });
    expect(await create()).toMatchObject({ kind: "failed", failure: { kind: "name_taken" } });
    expect(await sweep()).toMatchObject({ seen: 1, removed: 1 });
  });

  it("lists what was a while ago", async () => {
    const { connection, engine, id, pass, trouble } = await inTrouble();
    const states = async () => {
      const listed = await listContainers(connection, []);
      return listed.kind === "ok" ? listed.value.map(({ state }) => state) : null;
    };
    pass(1_000);
    engine.put(id, "running");
    pass(500);

    expect(await states()).toEqual(["running"]);
    trouble.set("list", { lag_ms: 501 });
    expect(await states()).toEqual(["created"]);
    trouble.set("list", { lag_ms: 1_501 });
    expect(await states()).toEqual([]);
  });

  it("leaves a container dead where its removal failed, and the next sweep takes it (E1)", async () => {
    const { engine, sweep, trouble } = await inTrouble({ remove: { removal_fails: true } });

    expect(await sweep()).toMatchObject({ removed: 0, failed: 1 });
    expect(engine.containers()).toMatchObject([{ state: "dead" }]);
    trouble.clear();
    expect(await sweep()).toMatchObject({ removed: 1, failed: 0 });
    expect(engine.containers()).toEqual([]);
  });

  it("refuses a kill and a second removal while one is under way, and the sweep waits for it", async () => {
    const { connection, engine, id, pass, sweep, trouble } = await inTrouble({ remove: { removal_ms: 1_500 } });
    const removing = removeContainer(connection, id);
    await waitFor(() => engine.containers()[0]?.state === "removing", { bound_ms: 1_000, what: "a removal under way" });
    trouble.clear();

    expect(await removeContainer(connection, id)).toMatchObject({ failure: { kind: "being_removed" } });
    expect(await killContainer(connection, id)).toMatchObject({ failure: { kind: "not_running" } });
    expect(await sweep()).toMatchObject({ seen: 1, removed: 0, failed: 0, stuck: 0 });
    pass(60_001);
    expect(await sweep()).toMatchObject({ stuck: 1 });
    expect(await removing).toMatchObject({ kind: "ok" });
    expect(await sweep()).toMatchObject({ seen: 0 });
  });

  it("fails a busy removal without effect, and takes what was not said to be gone for still there", async () => {
    const { engine, sweep, trouble } = await inTrouble({ remove: { fate: "busy" } });

    expect(await sweep()).toMatchObject({ removed: 0, failed: 1 });
    expect(engine.containers()).toMatchObject([{ state: "created" }]);
    trouble.set("remove", { fate: "reply_lost" });
    expect(await sweep()).toMatchObject({ removed: 0, failed: 1 });
    expect(engine.containers()).toEqual([]);
    expect(await sweep()).toMatchObject({ seen: 0, failed: 0 });
  });
});
