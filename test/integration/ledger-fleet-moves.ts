/** A fleet of three hosts, and what happens to it: the clock, lives of boots, scripts forgotten, heads. */
import { expect } from "vitest";
import { LEASE_MS, type LedgerFixture, LIMITS } from "./ledger-fixture.js";
import { setUsualLimits } from "./ledger-limit-moves.js";
import { holdsSlice, Model, type ModelHost } from "./ledger-model.js";
import { expectNoneForgotten, followMoves, type Move, pickBoot, tick } from "./ledger-move.js";

const START_MS = 1_800_000_000_000;
export const HOSTS = [
  { slots: 2, cpu_milli: 3_000 },
  { slots: 1, cpu_milli: 5_000 },
  { slots: 1, cpu_milli: 2_000 },
] as const;

export async function begin(f: LedgerFixture): Promise<Model> {
  await f.redis.flushall();
  const model = new Model();
  await tick(model, f, START_MS);
  await f.ledger.fleet(null);
  for (const limits of HOSTS) {
    const worker = await f.register({ limits: { ...LIMITS, ...limits } });
    const host: ModelHost = {
      ...{ host_id: worker.host_id, ...limits, memory_mb: LIMITS.memory_mb, healthy: true, draining: false },
      wanted_back_ms: null,
    };
    model.hosts.push(host);
    model.boots.push(bootOf(model, worker, host));
  }
  await setUsualLimits(model, f);
  return model;
}

function bootOf(model: Model, worker: Model["boots"][number]["worker"], host: ModelHost): Model["boots"][number] {
  return {
    ...{ worker, host, state: "LIVE", lease_ends_ms: model.now_ms + LEASE_MS, counter: -1, missed: new Map() },
    ...{ dead_ms: 0, silent: false, fit: true, slice: { memory_mb: 0, pids: 0 }, look: null },
  };
}

export async function registerAt(model: Model, f: LedgerFixture, host: ModelHost): Promise<void> {
  const worker = await f.register({ host_id: host.host_id, limits: null });
  host.healthy = true;
  model.boots.push(bootOf(model, worker, host));
  await followMoves(model, f);
}

function command(name: string, act: (model: Model, f: LedgerFixture) => Promise<void>): Move {
  return {
    check: () => true,
    run: async (model, f) => {
      model.world.transitions += 1;
      await act(model, f);
    },
    toString: () => name,
  };
}

export const clockBy = (ms: number) => command(`clock ${ms}`, (model, f) => tick(model, f, ms));

/** To the end of a boot's lease, exactly, or a millisecond to either side. */
export const clockToLeaseEnd = (at: number, off: number) =>
  command(`clock to lease end of boot ${at} ${off}`, async (model, f) => {
    const boot = model.boots[at % model.boots.length];
    if (boot && boot.lease_ends_ms > model.now_ms) await tick(model, f, boot.lease_ends_ms + off - model.now_ms);
  });

export const drain = (at: number) =>
  command(`drain boot ${at}`, async (model, f) => {
    const boot = pickBoot(model, at);
    if (!boot) return;
    await f.ledger.boots.drain(boot.worker.boot_id);
    if (boot.state === "LIVE") boot.state = "DRAINING";
  });

export async function drainHost(model: Model, f: LedgerFixture, host: ModelHost, draining: boolean): Promise<void> {
  const reply = await f.ledger.hosts.setDraining(host.host_id, draining);
  expect(reply.kind).toBe("done");
  host.draining = draining;
  const shown = (await f.ledger.hosts.list()).map((view) => [view.host_id, view.draining]);
  expect(new Map(shown as [string, boolean][])).toEqual(new Map(model.hosts.map((of) => [of.host_id, of.draining])));
}

/** Mostly back into service, so that the fleet is seldom at rest. */
export const drainHostAt = (at: number, draining: boolean) =>
  command(`${draining ? "drain" : "undrain"} host ${at}`, async (model, f) => {
    const host = model.hosts[at % model.hosts.length];
    if (host) await drainHost(model, f, host, draining);
  });

export async function retire(model: Model, f: LedgerFixture, boot: Model["boots"][number]): Promise<void> {
  const held = model.grants.filter((each) => each.open && each.boot === boot);
  const reply = await f.ledger.boots.retire(boot.worker.boot_id);
  const holds = held.length > 0 || holdsSlice(boot);
  expect(reply.kind).toBe(boot.state !== "DEAD" && holds ? "holds" : "retired");
  if (reply.kind === "retired" && boot.state !== "DEAD") model.die(boot);
}

export const retireBoot = (at: number) =>
  command(`retire boot ${at}`, async (model, f) => {
    const boot = model.boots[at % model.boots.length];
    if (boot) await retire(model, f, boot);
  });

export const register = (at: number) =>
  command(`register at host ${at}`, async (model, f) => {
    const host = model.hosts[at % model.hosts.length];
    if (host) await registerAt(model, f, host);
  });

export const flushScripts = () =>
  command("script flush", async (_, f) => {
    await f.redis.script("FLUSH");
  });

export const heads = () =>
  command("heads", async (model, f) => {
    const named = await f.ledger.tasks.headsWithRoom();
    await followMoves(model, f);
    expectNoneForgotten(model, named);
  });

/** What a parked job is told when it looks once more equals the rule of admit. */
export const looks = () =>
  command("look", async (model, f) => {
    for (const task of model.tasks.values()) {
      expect(await f.ledger.tasks.look(task.name), task.member).toBe(model.mayGoOn(task));
    }
  });
