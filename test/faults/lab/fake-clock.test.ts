import { rmSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { scratchFolder } from "../../support/scratch.js";
import { createFakeClock } from "./fake-clock.js";
import { endAllProcesses, startProcess } from "./processes.js";

const CLOCKS = `setInterval(() => console.log(JSON.stringify([Date.now(), performance.now()])), 10)`;

afterEach(endAllProcesses);

describe("a clock of the lab", () => {
  it("steps the wall clock of a node program both ways, and never its monotonic one", async () => {
    const folder = scratchFolder("clock");
    const clock = createFakeClock(folder);
    const env = { ...process.env, ...clock.env } as Record<string, string>;
    const child = await startProcess({ name: "clocks", command: process.execPath, args: ["-e", CLOCKS], env });
    const next = async () => JSON.parse(await child.line(/\[/, 5_000, child.lines.length + 1)) as [number, number];

    const errors: number[] = [];
    const monotonic: number[] = [];
    for (const seconds of [0, 600, -600]) {
      clock.set(seconds);
      const [wall, since] = await next();
      errors.push(Math.abs(wall - Date.now() - seconds * 1000));
      monotonic.push(since);
    }
    rmSync(folder, { recursive: true });

    expect(Math.max(...errors)).toBeLessThan(5_000);
    expect([...monotonic].sort((left, right) => left - right)).toEqual(monotonic);
    expect((monotonic[2] ?? 0) - (monotonic[0] ?? 0)).toBeLessThan(5_000);
  });
});
