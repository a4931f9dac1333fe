import { expect, test } from "vitest";
import { suspendDetector, systemClock } from "./clock.js";

function setup() {
  const now = { monotonic: 0, wall: 1_000_000, boot: 5_000 };
  const look = suspendDetector({
    monotonicMs: () => now.monotonic,
    wallMs: () => now.wall,
    bootMs: () => now.boot,
  });
  return (monotonic: number, wall: number, boot: number) => {
    now.monotonic += monotonic;
    now.wall += wall;
    now.boot += boot;
    return look();
  };
}

const NOTHING = { suspended_ms: 0, jumped: false };

test("a suspend is told from a slow loop, small drift and a clock that steps back", () => {
  const pass = setup();

  expect(pass(60_000, 60_000, 60_000)).toEqual(NOTHING);
  expect(pass(2_000, 2_900, 2_010)).toEqual(NOTHING);
  expect(pass(2_000, 32_000, 32_000)).toEqual({ suspended_ms: 30_000, jumped: true });
  expect(pass(2_000, 2_000, 2_000)).toEqual(NOTHING);
  expect(pass(2_000, -9_000, 2_000)).toEqual(NOTHING);
});

test("a wall clock that was set forward is no suspend", () => {
  expect(setup()(2_000, 602_000, 2_000)).toEqual({ suspended_ms: 0, jumped: true });
});

test("a suspend is told at the next look, however short ago the last one was", () => {
  const pass = setup();

  expect(pass(1, 1, 1)).toEqual(NOTHING);
  expect(pass(1, 5_001, 5_001)).toEqual({ suspended_ms: 5_000, jumped: true });
});

test("a suspend that a set clock hides is told within a tenth of a second", () => {
  const pass = setup();

  expect(pass(1, 1, 5_001)).toEqual(NOTHING);
  expect(pass(100, 100, 100)).toEqual({ suspended_ms: 5_000, jumped: true });
});

test("the system's boot clock runs as the monotonic one does while the host is awake", () => {
  const [boot, monotonic] = [systemClock.bootMs(), systemClock.monotonicMs()];
  while (systemClock.monotonicMs() - monotonic < 50);

  const apart = systemClock.bootMs() - boot - (systemClock.monotonicMs() - monotonic);
  expect(Math.abs(apart)).toBeLessThan(100);
});
