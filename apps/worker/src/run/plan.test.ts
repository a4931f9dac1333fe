import { describe, expect, test } from "vitest";
import { planOf } from "./plan.js";

describe("what an ending asks for", () => {
  test("only an end the caller can answer for is settled; the sandbox goes first where it cannot vouch for itself", () => {
    expect(planOf({ kind: "cancel" }, true)).toEqual({ kind: "settle", destroy_first: false });
    expect(planOf({ kind: "time_limit" }, true)).toEqual({ kind: "settle", destroy_first: true });
    expect(planOf({ kind: "guest_lost", detail: "", oom_killed: null }, true)).toEqual({
      kind: "settle",
      destroy_first: true,
    });
  });

  test("a sandbox lost before the command is the platform's doing and costs no attempt", () => {
    const plan = planOf({ kind: "guest_lost", detail: "", oom_killed: null }, false);

    expect(plan).toMatchObject({ kind: "requeue", counted: false });
  });

  test("drain and a sick engine hand back uncounted; without its engine only after the permission to live (L3)", () => {
    expect(planOf({ kind: "shutdown" }, true)).toMatchObject({ kind: "requeue", counted: false, wait: "gone" });
    expect(planOf({ kind: "engine_lost", detail: "" }, true)).toMatchObject({ counted: false, wait: "permission" });
  });

  test("a lost lease counts where user code may have run", () => {
    expect(planOf({ kind: "lease_lost" }, true)).toMatchObject({ kind: "requeue", counted: true });
    expect(planOf({ kind: "lease_lost" }, false)).toMatchObject({ kind: "requeue", counted: false });
  });

  test("whoever was fenced writes nothing (L2)", () => {
    expect(planOf({ kind: "abandon", reason: "fenced" }, true)).toEqual({ kind: "abandon", reason: "fenced" });
  });
});
