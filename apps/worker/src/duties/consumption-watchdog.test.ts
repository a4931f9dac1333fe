import { expect, test } from "vitest";
import { isStarved } from "./consumption-watchdog.js";

const STARVED = { waiting: 1, idle_ms: 10_000, free_slots: 1, open: true, paused: false };

test("a consumer is rebuilt only where work waits, a slot is free, the gate is open and nothing came for 10 s", () => {
  expect(isStarved(STARVED)).toBe(true);
  expect(isStarved({ ...STARVED, waiting: 0 })).toBe(false);
  expect(isStarved({ ...STARVED, idle_ms: 9_999 })).toBe(false);
  expect(isStarved({ ...STARVED, free_slots: 0 })).toBe(false);
  expect(isStarved({ ...STARVED, open: false })).toBe(false);
  expect(isStarved({ ...STARVED, paused: true })).toBe(false);
});
