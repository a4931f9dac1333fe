import { describe, expect, test } from "vitest";
import { withKeyNames } from "./key-names.js";

const NAMES = "--- @key hosts = :hosts\n--- @key sum = :sum:%s:%s\n--- @key tokens = :boot:%s:tokens\n";
const named = (line: string): string => withKeyNames(NAMES + line);

describe("names of keys", () => {
  test.each([
    ["redis.call('SMEMBERS', key.hosts)", "redis.call('SMEMBERS', (root .. ':hosts'))"],
    ["f(key.tokens(boot), 1)", "f((root .. ':boot:' .. id_part(boot) .. ':tokens'), 1)"],
    ["f(key.sum('fleet', 'all'))", "f((root .. ':sum:fleet:all'))"],
    ["f(key.sum('host', of(a, b)))", "f((root .. ':sum:host:' .. id_part(of(a, b))))"],
    [
      "f(key.sum(scope, id), key.hosts)",
      "f((root .. ':sum:' .. id_part(scope) .. ':' .. id_part(id)), (root .. ':hosts'))",
    ],
    ["-- as key.unknown does", "-- as key.unknown does"],
  ])("in %s are put in place", (line, expected) => {
    expect(named(line)).toBe(expected);
  });

  test.each(["key.unknown", "key.hosts(id)", "key.sum(scope)", "key.tokens(boot"])("%s is refused", (line) => {
    expect(() => named(line)).toThrow();
  });
});
