import { describe, expect, it } from "vitest";
import { type CreationStep, errorOf, mayTryAgain, type TryFailure } from "./creation-failure.js";

const engine = (kind: "refused" | "fault", step: CreationStep = "start"): TryFailure => ({
  kind: "engine",
  step,
  failure: { kind, detail: "/var/lib/secret runc" },
});

const FAILURES: readonly [TryFailure, string, boolean][] = [
  [engine("fault"), "ENGINE_UNAVAILABLE", true],
  [engine("refused"), "ENGINE_UNAVAILABLE", true],
  [engine("refused", "create"), "ENGINE_UNAVAILABLE", false],
  [{ kind: "warned", detail: "/var/lib/secret" }, "POSTURE_UNVERIFIED", false],
  [{ kind: "no_hello", detail: "/var/lib/secret" }, "SANDBOX_LOST", true],
  [{ kind: "other_agent" }, "POSTURE_UNVERIFIED", true],
  [{ kind: "posture", deviations: ["HostConfig.Memory"] }, "POSTURE_UNVERIFIED", false],
];

describe("a failed creation", () => {
  it.each(FAILURES)("%j is %s, tried again: %s", (failure, code, again) => {
    expect(errorOf(failure, 2)).toMatchObject({ code, fault: "platform", evidence: { tries: 2 } });
    expect(mayTryAgain(failure)).toBe(again);
  });

  it.each(FAILURES)("%j shows no word of the engine", (failure) => {
    expect(JSON.stringify(errorOf(failure, 1))).not.toMatch(/secret|runc|\/var/);
  });

  it("names the controls that deviate, a few of many", () => {
    const deviations = Array.from({ length: 30 }, (_, n) => `c${n}`);

    const { evidence } = errorOf({ kind: "posture", deviations }, 1);

    expect(evidence).toMatchObject({ deviations: 30, controls: "c0 c1 c2 c3 c4 c5 c6 c7" });
  });
});
