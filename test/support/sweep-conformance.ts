/** What our sweep relies on in an engine: sentences that a real engine and the one in memory both satisfy. */
import { type BootId, drawBootId, drawHostId, drawSandboxId, type FleetId } from "@holdfast/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createContainer,
  inspectContainer,
  killContainer,
  listContainers,
  removeContainer,
  startContainer,
  unpauseContainer,
} from "../../packages/engine/src/container-calls.js";
import { containerName, LABELS, labelsOf } from "../../packages/engine/src/container-name.js";
import type { EngineConnection } from "../../packages/engine/src/engine-connection.js";
import { readEngineClock } from "../../packages/engine/src/engine-facts.js";
import type { EngineReply } from "../../packages/engine/src/engine-failure.js";
import { createSweeper } from "../../packages/engine/src/sweep.js";
import { sweepHost } from "./sweep-host.js";

export interface SweepSubject {
  readonly connection: EngineConnection;
  readonly fleet_id: FleetId;
  close(): Promise<void>;
}

const RESTING = ["created", "exited"] as const;
const STATES = [...RESTING, "running", "paused"] as const;
type State = (typeof STATES)[number];

interface Left {
  readonly id: string;
  readonly name: string;
  readonly boot_id: BootId;
  readonly sandbox_id: string;
}

const nobody = { dead_boots: new Set<string>(), held: new Set<string>() };
const kindOf = (reply: EngineReply<unknown>): string => (reply.kind === "ok" ? "ok" : reply.failure.kind);

function need<T>(reply: EngineReply<T>): T {
  if (reply.kind === "failed") throw new Error(JSON.stringify(reply.failure));
  return reply.value;
}

function pauseContainer(connection: EngineConnection, id: string): Promise<EngineReply<unknown>> {
  return connection.ask({ method: "POST", path: `/containers/${id}/pause`, deadline_ms: 10_000, idempotent: true });
}

async function leave({ connection, fleet_id }: SweepSubject, state: State, boot_id = drawBootId()): Promise<Left> {
  const sandbox_id = drawSandboxId();
  const name = containerName(boot_id, sandbox_id, 1);
  const labels = { fleet_id, host_id: drawHostId(), boot_id, sandbox_id, lifetime_seconds: 3_600 };
  const body = {
    Image: "holdfast/shell:1",
    Cmd: ["sleep", "3600"],
    Labels: labelsOf({ ...labels, purpose: "task" }),
    HostConfig: { NetworkMode: "none" },
  };
  const { id } = need(await createContainer(connection, name, body));
  if (state !== "created") need(await startContainer(connection, id, 10_000));
  if (state === "exited") need(await killContainer(connection, id));
  if (state === "paused") need(await pauseContainer(connection, id));
  return { id, name, boot_id, sandbox_id };
}

async function statesIn({ connection, fleet_id }: SweepSubject): Promise<Record<string, string>> {
  const rows = need(await listContainers(connection, [`${LABELS.fleet}=${fleet_id}`]));
  return Object.fromEntries(rows.map(({ id, state }) => [id, state]));
}

async function statusOf({ connection }: SweepSubject, ref: string): Promise<string | null> {
  return need(await inspectContainer(connection, ref))
    .at("State")
    .text("Status");
}

/** Registers the sentences; the caller's `describe` says of which engine. */
export function sweepConformance(openSubject: () => Promise<SweepSubject>): void {
  let subject: SweepSubject;
  beforeEach(async () => {
    subject = await openSubject();
  });
  afterEach(() => subject.close());

  describe("asked", () => askingSentences(() => subject));
  describe("told", () => tellingSentences(() => subject));
  describe("under our sweep", () => sweepSentences(() => subject));
}

function askingSentences(subject: () => SweepSubject): void {
  it("lists every state with name and labels, and only what bears all labels asked for", async () => {
    const left = [];
    for (const state of STATES) left.push(await leave(subject(), state));
    const { connection, fleet_id } = subject();

    expect(await statesIn(subject())).toEqual(Object.fromEntries(left.map(({ id }, at) => [id, STATES[at]])));
    const [first] = left;
    const only = [`${LABELS.fleet}=${fleet_id}`, `${LABELS.sandbox}=${first?.sandbox_id}`];
    expect(need(await listContainers(connection, only))).toMatchObject([{ id: first?.id, name: first?.name }]);
    const none = [`${LABELS.fleet}=${fleet_id}`, `${LABELS.boot}=${drawBootId()}`];
    expect(need(await listContainers(connection, none))).toEqual([]);
  });

  it("tells when it made a container in whole seconds of the clock it tells", async () => {
    const { connection, fleet_id } = subject();
    const before = need(await readEngineClock(connection));
    await leave(subject(), "created");
    const after = need(await readEngineClock(connection));
    const [row] = need(await listContainers(connection, [`${LABELS.fleet}=${fleet_id}`]));

    expect((row?.created_at_ms ?? Number.NaN) % 1_000).toBe(0);
    expect(row?.created_at_ms).toBeGreaterThan(before - 1_000);
    expect(row?.created_at_ms).toBeLessThanOrEqual(after);
  });

  it("makes a name once", async () => {
    const { name } = await leave(subject(), "created");
    const body = { Image: "holdfast/shell:1", Cmd: ["true"] };

    expect(kindOf(await createContainer(subject().connection, name, body))).toBe("name_taken");
  });

  it("shows a container by id and by name, and answers start again", async () => {
    const { id, name } = await leave(subject(), "running");

    expect(kindOf(await startContainer(subject().connection, id, 10_000))).toBe("ok");
    expect([await statusOf(subject(), id), await statusOf(subject(), name)]).toEqual(["running", "running"]);
  });
}

function tellingSentences(subject: () => SweepSubject): void {
  it.each(RESTING)("has nothing to kill in one that is %s", async (state) => {
    const { id } = await leave(subject(), state);

    expect(kindOf(await killContainer(subject().connection, id))).toBe("not_running");
    expect(kindOf(await pauseContainer(subject().connection, id))).toBe("not_running");
    expect(await statusOf(subject(), id)).toBe(state);
  });

  it.each(["running", "paused"] as const)("removes no container that is %s, and kills it", async (state) => {
    const { connection } = subject();
    const { id } = await leave(subject(), state);

    expect(kindOf(await removeContainer(connection, id))).toBe("conflict");
    expect(kindOf(await unpauseContainer(connection, id))).toBe(state === "paused" ? "ok" : "fault");
    expect(await statusOf(subject(), id)).toBe("running");
    if (state === "paused") need(await pauseContainer(connection, id));
    expect(kindOf(await killContainer(connection, id))).toBe("ok");
    expect(await statusOf(subject(), id)).toBe("exited");
  });

  it("starts nothing that is paused", async () => {
    const { id } = await leave(subject(), "paused");

    expect(kindOf(await startContainer(subject().connection, id, 10_000))).toBe("conflict");
  });

  it.each(RESTING)("removes one that is %s, and then knows it no more", async (state) => {
    const { connection } = subject();
    const { id } = await leave(subject(), state);

    expect(kindOf(await removeContainer(connection, id))).toBe("ok");
    for (const call of [inspectContainer, killContainer, removeContainer, unpauseContainer]) {
      expect(kindOf(await call(connection, id))).toBe("not_found");
    }
    expect(await statesIn(subject())).toEqual({});
  });

  it("removes one once, however many ask at the same time", async () => {
    const { id } = await leave(subject(), "exited");
    const replies = await Promise.all([1, 2, 3].map(() => removeContainer(subject().connection, id)));

    expect(replies.map(kindOf).filter((kind) => kind === "ok")).toHaveLength(1);
    for (const kind of replies.map(kindOf)) expect(["ok", "being_removed", "not_found"]).toContain(kind);
    expect(kindOf(await inspectContainer(subject().connection, id))).toBe("not_found");
  });
}

function sweepSentences(subject: () => SweepSubject): void {
  const sweeperOf = (boot_id: BootId) => createSweeper(sweepHost({ ...subject(), boot_id }));

  it("keeps in every state what another boot left that is not DEAD, and takes it once it is", async () => {
    const boot_id = drawBootId();
    for (const state of STATES) await leave(subject(), state, boot_id);
    const { sweep } = sweeperOf(drawBootId());
    const before = await statesIn(subject());

    expect(await sweep(nobody)).toMatchObject({ seen: 4, removed: 0, failed: 0 });
    expect(await sweep({ ...nobody, known_boots: new Set() })).toMatchObject({ removed: 0 });
    expect(await statesIn(subject())).toEqual(before);
    expect(await sweep({ ...nobody, dead_boots: new Set([boot_id]) })).toMatchObject({ removed: 4, failed: 0 });
    expect(await statesIn(subject())).toEqual({});
  });

  it("takes in every state what is its own and not held, and nothing that is", async () => {
    const boot_id = drawBootId();
    const kept = await leave(subject(), "running", boot_id);
    for (const state of STATES) await leave(subject(), state, boot_id);

    expect(await sweeperOf(boot_id).sweep({ ...nobody, held: new Set([kept.sandbox_id]) })).toMatchObject({
      seen: 5,
      removed: 4,
    });
    expect(await statesIn(subject())).toEqual({ [kept.id]: "running" });
  });

  it("is done by several boots at once and ends with everything gone", async () => {
    const boot_id = drawBootId();
    for (const state of STATES) await leave(subject(), state, boot_id);
    const facts = { ...nobody, dead_boots: new Set([boot_id]) };
    await Promise.all([drawBootId(), drawBootId()].map((by) => sweeperOf(by).sweep(facts)));

    expect(await statesIn(subject())).toEqual({});
  });
}
