import { ConfigError } from "@holdfast/chassis";
import { HoldfastError } from "@holdfast/contract";
import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import { CommandFault } from "./command-fault.js";
import { explainError } from "./explain-error.js";

describe("an error", () => {
  it.each([
    [new CommandFault("usage", "bad"), "bad", 2],
    [new CommandFault("platform", "away"), "away", 125],
    [new ConfigError([{ variable: "HOLDFAST_SLOTS", message: "must be a number" }]), "HOLDFAST_SLOTS", 2],
    [
      new HoldfastError("INVALID_REQUEST", { field: "image", message: "must be an image" }),
      "image: must be an image",
      2,
    ],
    [new HoldfastError("LEDGER_UNAVAILABLE"), "REDIS_URL", 125],
    [new HoldfastError("IMAGE_NOT_ALLOWED"), "holdfast images", 125],
    [new CommanderError(1, "commander.unknownOption", "error: unknown option '--x'\n(Did you mean --y?)"), "'--x'", 2],
    [new TypeError("x is not a function"), "unexpected failure", 125],
    ["text", "unexpected failure: text", 125],
  ])("becomes one line and an exit code: %s", (error, text, exit_code) => {
    const explained = explainError(error);

    expect(explained.line).toContain(text);
    expect(explained.line).not.toMatch(/\n|\s+at /);
    expect(explained.exit_code).toBe(exit_code);
  });

  it("is silent where help was asked for, and not where a command is missing", () => {
    expect(explainError(new CommanderError(0, "commander.helpDisplayed", "x"))).toEqual({ line: "", exit_code: 0 });
    expect(explainError(new CommanderError(1, "commander.help", "x"))).toEqual({ line: "", exit_code: 2 });
  });
});
