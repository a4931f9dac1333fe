import { describe, expect, test } from "vitest";
import { usedParts } from "./used-parts.js";

describe("the parts of a script that are used", () => {
  test("definitions that nothing uses are left out, also where only such definitions use them", () => {
    const script = [
      "#!lua flags=allow-oom",
      "-- a comment",
      "local key = {}",
      "key.used = of_one('x')",
      "key.unused = of_one('y')",
      "local function of_one(name)",
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
      "return key.used",
    ].join("\n");

    expect(usedParts(script)).toBe(
      [
        "#!lua flags=allow-oom",
        "local key = {}",
        "key.used = of_one('x')",
        "local function of_one(name)",
        "  return name",
        "end",
        "return key.used",
      ].join("\n"),
    );
  });

  test.each([
    ["asks Redis", "local count = redis.call('INCR', KEYS[1])\nif KEYS[2] then\n  return 2\nelse\n  return 3\nend"],
    ["calls what may", "local function finish()\n  redis.call('DEL', KEYS[1])\nend\nlocal reply = finish()\nreturn 1"],
  ])("what %s is kept whether or not its answer is used", (_, script) => {
    expect(usedParts(script)).toBe(script);
  });
});
