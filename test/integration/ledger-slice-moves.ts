/** Moves of pools: a boot sets its slice, and gives it back where a task wants it. */
import { expect } from "vitest";
import { type LedgerFixture, LIMITS } from "./ledger-fixture.js";
import type { Model, ModelBoot } from "./ledger-model.js";
import { expectNoneForgotten, followMoves, type Move, move, pickBoot, seen } from "./ledger-move.js";

/** Whether a slice that is larger than before is taken. */
function mayGrow(model: Model, boot: ModelBoot, memory_mb: number): boolean {
  const { host } = boot;
  if (!model.takesTasks(boot) || host.draining || model.isPoolWantedBack(host)) return false;
  const more = memory_mb - boot.slice.memory_mb;
  const fits = more <= Math.max(0, model.left("host", host.host_id).memory_mb);
  const waits = [...model.tasks.values()].some((task) => task.wait_scope === "host" && model.couldServe(host, task));
  return fits && model.grantsOpen() && !model.showsStrangers(host) && !waits;
}

async function doSetSlice(model: Model, f: LedgerFixture, boot: ModelBoot, memory_mb: number, pids: number) {
  const { slice: had, host } = boot;
  const wanted_back = model.isPoolWantedBack(host);
  const grows = memory_mb > had.memory_mb || pids > had.pids;
  const dead = boot.state === "DEAD";
  if (!dead && (!grows || mayGrow(model, boot, memory_mb))) boot.slice = { memory_mb, pids };
  const reply = await f.ledger.boots.setSlice({ boot_id: boot.worker.boot_id, memory_mb, pids, report: [] });
  if (dead) return expect(reply).toEqual({ kind: "fenced" });
  const { slice } = boot;
  seen(`slice ${slice === had ? "kept" : grows ? "grown" : "shrunk"}${wanted_back ? " yields" : ""}`);
  expect(reply).toEqual({ kind: "set", ...slice, yield: wanted_back, promotions: expect.any(Array) });
  if (reply.kind !== "set") return undefined;
  await followMoves(model, f);
  const shrunk = slice.memory_mb < had.memory_mb || slice.pids < had.pids;
  if (shrunk) expectNoneForgotten(model, reply.promotions, ({ wait_scope }) => wait_scope !== "workspace");
  else expect(reply.promotions).toEqual([]);
  const shown = (await f.ledger.hosts.list()).flatMap(({ boots }) => boots.map((each) => [each.boot_id, each.slice]));
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(model.boots.map((each) => [each.worker.boot_id, each.slice])),
  );
}

/** In tenths of what a host has. Pids are never what lacks. */
export function setSlice(at: number, tenths: number, pids: number): Move {
  return move(`slice of boot ${at} to ${tenths} tenths, ${pids} pids`, async (model, f) => {
    const boot = pickBoot(model, at);
    if (boot && !boot.silent) await doSetSlice(model, f, boot, Math.floor((LIMITS.memory_mb * tenths) / 10), pids);
    return undefined;
  });
}
