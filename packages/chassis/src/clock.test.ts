import { expect, test } from "vitest";
import { suspendDetector } from "./clock.js";

test("a suspend is told from a slow loop, small drift and a clock that steps back", () => {
  const now = { monotonic: 0, wall: 1_000_000 };
  const gap = suspendDetector({ monotonicMs: () => now.monotonic, wallMs: () => now.wall });
  const pass = (monotonic: number, wall: number): number => {
    now.monotonic += monotonic;
    now.wall += wall;
    return gap();
  };

  expect(pass(60_000, 60_000)).toBe(0);
  expect(pass(2_000, 2_900)).toBe(0);
  expect(pass(2_000, 32_000)).toBe(30_000);
  expect(pass(2_000, 2_000)).toBe(0);
  expect(pass(2_000, -9_000)).toBe(0);
});
