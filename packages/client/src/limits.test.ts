import { HoldfastError, type ScopeKind, type ScopeView } from "@holdfast/contract";
import { describe, expect, it, test } from "vitest";
import { type LimitsDeps, listLimits, setLimits } from "./limits.js";

const woken = { workspace_id: "w", task_id: "t", queue: "tasks", job_id: "w.t.1" } as never;

const view = (scope: ScopeKind, id: string) => ({ scope, id }) as ScopeView;
const page = (scopes: ScopeView[], cursor: string | null) => ({
  scopes,
  waiting: { host: 0, workspace: 0, fleet: 0 },
  cursor,
});

function setup(
  promote: LimitsDeps["queue"]["promote"] = async () => 0,
  pages = new Map<string | null, ReturnType<typeof page>>(),
) {
  const calls: unknown[] = [];
  const deps: LimitsDeps = {
    hosts: {
      setLimits: async (...args) => {
        calls.push(args);
        return [woken];
      },
      limits: async (_workspaces, cursor) => pages.get(cursor ?? null) ?? page([], null),
      limitsOf: async (scope, id) => view(scope, id),
    },
    queue: {
      promote: async (promotions) => {
        calls.push(promotions);
        return promote(promotions);
      },
    },
    fail_fast_ms: 1_000,
  };
  return { calls, deps };
}

describe("setLimits", () => {
  it("sets those of one scope and wakes whom the ledger names", async () => {
    const { calls, deps } = setup();

    await setLimits(deps, { scope: "workspace", id: "w" }, { slots: 1 });
    await setLimits(deps, { scope: "fleet" }, { queued: null });

    expect(calls).toEqual([["workspace", "w", { slots: 1 }], [woken], ["fleet", "all", { queued: null }], [woken]]);
  });

  it("stands where the queue cannot be reached: sleeping jobs wake by themselves", async () => {
    const { deps } = setup(async () => {
      throw new HoldfastError("LEDGER_UNAVAILABLE");
    });

    await expect(setLimits(deps, { scope: "fleet" }, { slots: 1 })).resolves.toBeUndefined();
  });

  it("refuses an id that is none before anything is sent", async () => {
    const { calls, deps } = setup();

    await expect(setLimits(deps, { scope: "workspace", id: "a b" }, {})).rejects.toMatchObject({
      field: "workspace_id",
    });
    await expect(setLimits(deps, { scope: "host", id: "" }, {})).rejects.toMatchObject({ field: "host_id" });
    expect(calls).toEqual([]);
  });
});

test("listLimits walks all steps, an empty one among them, and shows a workspace that comes twice once", async () => {
  const [fleet, a, b] = [view("fleet", "all"), view("workspace", "a"), view("workspace", "b")];
  const pages = new Map([
    [null, page([fleet, b], "7")],
    ["7", page([], "9")],
    ["9", page([a, b], null)],
  ]);

  expect(await listLimits(setup(undefined, pages).deps)).toEqual([fleet, a, b]);
});
