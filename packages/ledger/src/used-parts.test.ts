import { describe, expect, test } from "vitest";
import { usedParts } from "./used-parts.js";

const textOf = (script: string): string =>
  usedParts(script)
    .map(({ text }) => text)
    .join("\n");

describe("the parts of a script that are used", () => {
  test("definitions that nothing uses are left out, also where only such definitions use them", () => {
    const script = [
      "#!lua flags=allow-oom",
      "-- a comment",
      "local function used(name)",
      "  -- told inside",
      "  return name",
      "end",
      "local function inner()",
      "  return 1",
      "end",
      "local function outer()",
      "  return inner()",
      "end",
      "local TABLE = {",
      "  'a',",
      "}",
      "return used('x')",
    ].join("\n");

    expect(textOf(script)).toBe(
      ["#!lua flags=allow-oom", "local function used(name)", "  return name", "end", "return used('x')"].join("\n"),
    );
  });

  test("what only rare functions use is built within each of them, but for what they share: tables and counts", () => {
    const script = [
      "local KEPT_MS = 10",
      "local asked = 0",
      "local seen = {}",
      "local function ask(name)",
      "  asked = asked + KEPT_MS",
      "  return seen[name]",
      "end",
      "--- @rare",
      "local function one(name)",
      "  return ask(name)",
      "end",
      "--- @rare",
      "local function two()",
      "  return one('b')",
      "end",
      "return ARGV[1] and one('a') or two()",
    ].join("\n");

    expect(textOf(script)).toBe(
      [
        "local asked = 0",
        "local seen = {}",
        "local function one(name)",
        "local KEPT_MS = 10",
        "local function ask(name)",
        "  asked = asked + KEPT_MS",
        "  return seen[name]",
        "end",
        "  return ask(name)",
        "end",
        "local function two()",
        "  return one('b')",
        "end",
        "return ARGV[1] and one('a') or two()",
      ].join("\n"),
    );
    expect(usedParts(script).map(({ rare }) => rare)).toEqual([false, false, true, true, false]);
  });

  test.each([
    ["asks Redis", "local count = redis.call('INCR', KEYS[1])\nif KEYS[2] then\n  return 2\nelse\n  return 3\nend"],
    ["calls what may", "local function finish()\n  redis.call('DEL', KEYS[1])\nend\nlocal reply = finish()\nreturn 1"],
  ])("what %s is kept whether or not its answer is used", (_, script) => {
    expect(textOf(script)).toBe(script);
  });
});
