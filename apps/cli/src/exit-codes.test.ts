import { ERROR_CODES, type ErrorCode, taskError } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { exitCodeOf, exitCodeOfError } from "./exit-codes.js";

const ended = (status: "SUCCEEDED" | "FAILED" | "TIMEOUT" | "CANCELLED", exit_code: number | null, code?: ErrorCode) =>
  exitCodeOf({ status, exit_code, error: code === undefined ? null : taskError(code) });

describe("the exit code of a task", () => {
  it.each([
    ["its own where it failed by itself", ended("FAILED", 7, "NONZERO_EXIT"), 7],
    ["128 + n where a signal ended it", ended("FAILED", 137, "KILLED_BY_SIGNAL"), 137],
    ["127 where the command is missing", ended("FAILED", 127, "COMMAND_NOT_FOUND"), 127],
    ["0 where it succeeded", ended("SUCCEEDED", 0), 0],
    ["124 at its time limit, whatever it exited with", ended("TIMEOUT", 137, "TIME_LIMIT"), 124],
    ["130 where it was cancelled", ended("CANCELLED", null, "CANCELLED"), 130],
    ["125 for a fault of the platform, also with an exit code", ended("FAILED", 1, "SANDBOX_LOST"), 125],
    ["125 for a fault of policy", ended("FAILED", null, "IMAGE_NOT_ALLOWED"), 125],
    ["125 for a fault of capacity", ended("FAILED", null, "QUEUE_TIMEOUT"), 125],
    ["1 where the user's fault has no exit code", ended("FAILED", null, "SANDBOX_ENDED_BY_CODE"), 1],
    ["never 0 where it failed", ended("FAILED", 0, "DISK_FULL"), 1],
  ])("is %s", (_what, seen, wanted) => {
    expect(seen).toBe(wanted);
  });

  it("of a refused call is 2 for the caller's fault and 125 for every other", () => {
    for (const [code, { fault }] of Object.entries(ERROR_CODES)) {
      expect(exitCodeOfError({ code: code as ErrorCode, fault })).toBe(fault === "user" ? 2 : 125);
    }
  });
});
