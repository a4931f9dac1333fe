import { describe, expect, it } from "vitest";
import { limitsOf, scopeOf } from "./limit-options.js";

describe("the options of `limits set`", () => {
  it("name one scope", () => {
    expect(scopeOf({ workspace: "w" })).toEqual({ scope: "workspace", id: "w" });
    expect(scopeOf({ fleet: true })).toEqual({ scope: "fleet" });
    expect(scopeOf({ host: "host_1" })).toEqual({ scope: "host", id: "host_1" });
    for (const options of [{}, { workspace: "w", fleet: true }, { fleet: true, host: "h" }]) {
      expect(() => scopeOf(options)).toThrow(/name one of --workspace <id>, --fleet and --host <id>/);
    }
  });

  it("give each limit in the units of the ledger, and lift it by none", () => {
    const options = { slots: "0", cpu: "1.5", memory: "2g", pids: "none", queued: "10", pendingBytes: "64m" };
    const limits = { slots: 0, cpu_milli: 1_500, memory_mb: 2_048, pids: null, queued: 10, pending_bytes: 67_108_864 };

    expect(limitsOf(options)).toEqual(limits);
    expect(limitsOf({ pendingBytes: "4096" })).toEqual({ pending_bytes: 4_096 });
  });

  it.each([
    [{}, /name a limit/],
    [{ slots: "-1" }, /--slots -1/],
    [{ slots: "1.5" }, /--slots 1\.5/],
    [{ queued: "many" }, /--queued many/],
    [{ cpu: "two" }, /--cpu two/],
    [{ memory: "1t" }, /--memory 1t/],
    [{ pendingBytes: "1.5m" }, /--pending-bytes 1\.5m/],
  ])("refuse %j as bad usage", (options, message) => {
    expect(() => limitsOf(options)).toThrow(message);
  });
});
