import {
  type BootId,
  drawBootId,
  drawFleetId,
  drawHostId,
  drawSandboxId,
  type SandboxId,
  TIMES,
} from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import type { ListedContainer } from "./container-calls.js";
import { containerName, LABELS, labelsOf } from "./container-name.js";
import { decideSweep, REMOVING_MS_MAX, type SweepView, strangerIn } from "./sweep-decision.js";

const NOW_MS = 1_800_000_000_000;
const own = drawBootId();
const other = drawBootId();

interface Given {
  readonly boot_id?: BootId;
  readonly sandbox_id?: SandboxId;
  readonly state?: string;
  readonly age_ms?: number;
  readonly purpose?: "task" | "probe";
}

function container(given: Given = {}): ListedContainer {
  const { boot_id = own, sandbox_id = drawSandboxId(), state = "running", age_ms = 1_000 } = given;
  const identity = { fleet_id: drawFleetId(), host_id: drawHostId(), boot_id, sandbox_id, lifetime_seconds: 3_600 };
  return {
    id: "c1",
    name: containerName(boot_id, sandbox_id, 1),
    labels: labelsOf({ ...identity, purpose: given.purpose ?? "task" }),
    state,
    created_at_ms: NOW_MS - age_ms,
  };
}

function view(extra: Partial<SweepView> = {}): SweepView {
  const nobody = new Set<string>();
  return {
    boot_id: own,
    now_ms: NOW_MS,
    dead_boots: nobody,
    held: nobody,
    in_hand: nobody,
    removingSince: () => NOW_MS,
    ...extra,
  };
}

const STATES = ["created", "running", "paused", "restarting", "exited", "dead"];

describe("decideSweep", () => {
  it.each(STATES)("removes a container of this boot that nobody holds, when %s (E1)", (state) => {
    expect(decideSweep(container({ state }), view())).toEqual({ kind: "remove", why: "not_held" });
  });

  it.each(STATES)("removes a container of a boot that is DEAD, when %s (E1)", (state) => {
    const dead = view({ dead_boots: new Set([other]) });

    expect(decideSweep(container({ state, boot_id: other }), dead)).toEqual({ kind: "remove", why: "boot_dead" });
  });

  it.each(STATES)("keeps a container of another boot that is not DEAD, when %s (E2)", (state) => {
    expect(decideSweep(container({ state, boot_id: other }), view())).toEqual({ kind: "keep" });
  });

  it("keeps what the worker holds", () => {
    const sandbox_id = drawSandboxId();

    expect(decideSweep(container({ sandbox_id }), view({ held: new Set([sandbox_id]) }))).toEqual({ kind: "keep" });
  });

  it("keeps what the engine itself is making or removing, by its exact name", () => {
    const one = container();

    expect(decideSweep(one, view({ in_hand: new Set([one.name]) }))).toEqual({ kind: "keep" });
    expect(decideSweep({ ...one, name: `${one.name}0` }, view({ in_hand: new Set([one.name]) })).kind).toBe("remove");
  });

  it("removes any boot's container past its lifetime by the engine's clock (E4), and not one moment before", () => {
    const late = { kind: "remove", why: "lifetime_over" };

    expect(decideSweep(container({ boot_id: other, age_ms: 3_600_001 }), view())).toEqual(late);
    expect(decideSweep(container({ boot_id: other, age_ms: 3_600_000 }), view())).toEqual({ kind: "keep" });
    const held = container({ age_ms: 3_600_001 });
    const heldView = view({ held: new Set([held.labels[LABELS.sandbox] ?? ""]) });
    expect(decideSweep(held, heldView)).toEqual(late);
  });

  it("keeps a container whose age cannot be told", () => {
    expect(decideSweep({ ...container({ boot_id: other }), created_at_ms: Number.NaN }, view())).toEqual({
      kind: "keep",
    });
  });

  it("keeps a container whose labels are not whole: nobody has proof (E2)", () => {
    const one = container({ age_ms: 10_000_000 });
    const { [LABELS.boot]: _, ...labels } = one.labels;

    expect(decideSweep({ ...one, labels }, view({ dead_boots: new Set([""]) }))).toEqual({ kind: "keep" });
  });

  it("waits for a removal under way, and calls it stuck after a minute", () => {
    const removing = container({ state: "removing" });
    const since = (ms: number) => view({ removingSince: () => NOW_MS - ms });

    expect(decideSweep(removing, since(REMOVING_MS_MAX))).toEqual({ kind: "wait", stuck: false });
    expect(decideSweep(removing, since(REMOVING_MS_MAX + 1))).toEqual({ kind: "wait", stuck: true });
  });

  describe("of a boot the ledger has no record of", () => {
    const known = view({ known_boots: new Set([own]) });
    const old_ms = TIMES.dead_man_bound_ms + 1;

    it.each(["created", "exited", "dead"])("removes what is %s and older than the dead-man bound (L4)", (state) => {
      const absent = { kind: "remove", why: "boot_absent" };

      expect(decideSweep(container({ state, boot_id: other, age_ms: old_ms }), known)).toEqual(absent);
      expect(decideSweep(container({ state, boot_id: other, age_ms: old_ms - 1 }), known)).toEqual({ kind: "keep" });
    });

    it.each(["running", "paused", "restarting"])("keeps what is %s, however old: absent is not dead (L4)", (state) => {
      expect(decideSweep(container({ state, boot_id: other, age_ms: old_ms }), known)).toEqual({ kind: "keep" });
    });

    it("keeps everything where nobody looked, and what a boot with a record made", () => {
      const left = container({ state: "exited", boot_id: other, age_ms: old_ms });

      expect(decideSweep(left, view())).toEqual({ kind: "keep" });
      expect(decideSweep(left, view({ known_boots: new Set([own, other]) }))).toEqual({ kind: "keep" });
    });
  });
});

describe("strangerIn", () => {
  it("names what is alive, serves callers and is held by nobody here, and whose pool made it", () => {
    const sandbox_id = drawSandboxId();
    const given = { boot_id: other, sandbox_id };
    const stranger = { sandbox_id, pool_of: null };

    expect(strangerIn(container(given), view())).toEqual(stranger);
    expect(strangerIn(container({ ...given, state: "paused" }), view())).toEqual(stranger);
    expect(strangerIn(container({ ...given, purpose: "pool" }), view())).toEqual({ sandbox_id, pool_of: other });
    expect(strangerIn(container({ ...given, state: "exited" }), view())).toBeNull();
    expect(strangerIn(container({ ...given, purpose: "probe" }), view())).toBeNull();
    expect(strangerIn(container(given), view({ held: new Set([sandbox_id]) }))).toBeNull();
  });
});
