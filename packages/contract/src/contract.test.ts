import { describe, expect, it } from "vitest";
import { BOUNDS } from "./bounds.js";
import { drawBootId, drawSandboxId, drawTaskId } from "./draw.js";
import { ERROR_CODES, type ErrorCode, HoldfastError, taskError } from "./errors.js";
import { bootIdSchema, compareFences, fenceSchema, sandboxIdSchema, taskIdSchema } from "./ids.js";
import { amountOf, exceeds, tooSmall } from "./resources.js";
import { TIMES } from "./times.js";

const codes = Object.keys(ERROR_CODES) as ErrorCode[];

describe("drawn ids", () => {
  it("satisfy their own grammar and do not repeat", () => {
    expect(taskIdSchema.safeParse(drawTaskId()).success).toBe(true);
    expect(bootIdSchema.safeParse(drawBootId()).success).toBe(true);
    expect(sandboxIdSchema.safeParse(drawSandboxId()).success).toBe(true);
    expect(new Set(Array.from({ length: 1000 }, drawTaskId)).size).toBe(1000);
  });

  it("of boots and sandboxes carry no dash, which separates the parts of a name", () => {
    expect(bootIdSchema.safeParse("boot-1").success).toBe(false);
    expect(drawBootId()).not.toContain("-");
  });
});

describe("fences", () => {
  const fence = (text: string) => fenceSchema.parse(text);

  it("compare as numbers although they are text (L1)", () => {
    expect(compareFences(fence("9"), fence("10"))).toBeLessThan(0);
    expect(compareFences(fence("1764482400000001"), fence("1764482400000000"))).toBeGreaterThan(0);
    expect(compareFences(fence("7"), fence("7"))).toBe(0);
  });

  it.each(["", "0", "-1", "1.5", "1e15", "nan", " 1", "01"])("refuse %j (AT-G1)", (text) => {
    expect(fenceSchema.safeParse(text).success).toBe(false);
  });
});

describe("amounts", () => {
  it("count the memory of the whole sandbox: memory, disk and our share", () => {
    const amount = amountOf({ cpu: 0.5, memory_mb: 512, disk_mb: 256, pids_limit: 128 });
    expect(amount).toEqual({ slots: 1, cpu_milli: 500, memory_mb: 896, pids: 130 });
  });

  it("name what does not fit", () => {
    const wanted = { slots: 1, cpu_milli: 500, memory_mb: 896, pids: 130 };
    expect(exceeds(wanted, { ...wanted, memory_mb: 895, pids: 0 })).toEqual(["memory_mb", "pids"]);
    expect(exceeds(wanted, wanted)).toEqual([]);
  });

  it("too small to start a sandbox are refused as policy, with the minimum", () => {
    const error = tooSmall({ cpu: 1, memory_mb: 4, disk_mb: 1, pids_limit: 64 });
    expect(error).toMatchObject({ code: "RESOURCES_TOO_SMALL", fault: "policy", evidence: { minimum: 16 } });
    expect(tooSmall({ cpu: 1, memory_mb: 16, disk_mb: 1, pids_limit: 4 })).toBeNull();
  });
});

describe("errors", () => {
  it.each(codes)("%s tells whose fault it was and whether to retry, in 300 characters at most", (code) => {
    const error = taskError(code);
    expect(error.summary).toContain(`fault: ${error.fault}`);
    expect(Array.from(error.summary).length).toBeLessThanOrEqual(BOUNDS.summary_characters_max);
  });

  it("of the platform say that the submitted code is not at fault", () => {
    for (const code of codes.filter((name) => ERROR_CODES[name].fault === "platform")) {
      expect(taskError(code).summary).toMatch(/code is not at fault/i);
    }
  });

  it("keep a long message whole and cut only the summary", () => {
    const error = taskError("INTERNAL", { message: "é".repeat(1000) });
    expect(error.message).toHaveLength(1000);
    expect(Array.from(error.summary)).toHaveLength(300);
  });

  it("that are thrown carry code, fault and field", () => {
    const error = new HoldfastError("INVALID_REQUEST", { field: "env.A", message: "no" });
    expect(error).toMatchObject({ code: "INVALID_REQUEST", fault: "user", retryable: false, field: "env.A" });
  });
});

describe("the table of times", () => {
  it("keeps its relations: margins inside leases, bounds above what they bound (L3, L4)", () => {
    expect(TIMES.beat_ms * 3).toBeLessThanOrEqual(TIMES.boot_lease_ms - TIMES.own_margin_ms);
    expect(TIMES.dead_man_bound_ms).toBe(TIMES.boot_lease_ms + TIMES.outage_grace_ms + 2_000);
    expect(TIMES.dead_man_bound_egress_ms).toBe(TIMES.boot_lease_ms + 2_000);
    expect(TIMES.pulse_ms * 2).toBeLessThan(TIMES.pulse_suspect_ms);
    expect(TIMES.pulse_suspect_ms).toBeLessThan(TIMES.pulse_lost_ms);
    expect(TIMES.engine_ping_deadline_ms).toBeLessThan(TIMES.pulse_suspect_ms);
    expect(TIMES.hello_ms).toBeLessThan(TIMES.creation_try_ms);
    expect(TIMES.output_retention_ms).toBeLessThanOrEqual(TIMES.record_retention_ms);
    expect(TIMES.bury_look_ms).toBeLessThan(TIMES.beat_ms);
  });
});
