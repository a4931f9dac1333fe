import { expect, test } from "vitest";
import { judgeLimits } from "./limits-check.js";

const AMOUNT = { slots: 4, cpu_milli: 4_000, memory_mb: 8_000, pids: 4_096 };
const MET = { amount: "slots", from: 16, to: 4, wall: "descriptors", seen: "few" } as const;
const NONE = { wanted: null, defaults: AMOUNT, lowered: [], exceeded: [] };

test("limits that a wall lowered are told with it, and those of the operator beyond one are a warning", () => {
  const exceeding = { ...NONE, wanted: { ...AMOUNT, slots: 16 }, exceeded: [MET] };

  expect(judgeLimits(NONE)).toMatchObject({ state: "ok", seen: expect.not.stringContaining("descriptors") });
  expect(judgeLimits({ ...NONE, lowered: [MET] })).toMatchObject({
    state: "ok",
    seen: expect.stringContaining("slots would be 16, descriptors has room for 4"),
  });
  expect(judgeLimits(exceeding)).toMatchObject({ state: "warning", seen: expect.stringContaining("slots is 16") });
  expect(judgeLimits(null).state).toBe("skipped");
});
