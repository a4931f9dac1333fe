import { describe, expect, it } from "vitest";
import { silenceMeter } from "./sandbox-watch.js";

describe("silenceMeter", () => {
  it("counts from the last frame while ticks come on time", () => {
    const silence = silenceMeter();
    silence(1_000, 1_000);

    const measured = [2_000, 3_000, 4_000].map((now) => silence(now, 1_500));

    expect(measured).toEqual([500, 1_500, 2_500]);
  });

  it("forgives what a stalled worker could not hear: frames may lie unread behind a late tick", () => {
    const silence = silenceMeter();
    silence(1_000, 1_000);

    expect(silence(30_000, 1_000)).toBe(0);
    expect(silence(31_000, 1_000)).toBe(1_000);
  });
});
