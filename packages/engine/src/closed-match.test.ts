import { describe, expect, it } from "vitest";
import { deviationsOf, isNeutral } from "./closed-match.js";

describe("deviationsOf", () => {
  it("passes what was asked for beside neutral rest", () => {
    const actual = { a: 1, list: ["x"], deep: { b: true, n: null }, off: false, none: [], zero: [0, 0], text: "" };

    expect(deviationsOf({ a: 1, list: ["x"], deep: { b: true } }, actual, "H", {})).toEqual([]);
  });

  it.each([
    ["another value", { a: 2 }, ["H.a"]],
    ["a missing value", {}, ["H.a"]],
    ["another type", { a: "1" }, ["H.a"]],
    ["a setting nobody made", { a: 1, extra: ["x"] }, ["H.extra"]],
    ["one deep inside", { a: 1, extra: { b: { c: 1 } } }, ["H.extra"]],
    ["no object", null, ["H"]],
    ["a list", [], ["H"]],
  ])("names %s", (_, actual, expected) => {
    expect(deviationsOf({ a: 1 }, actual, "H", {})).toEqual(expected);
  });

  it("compares lists by length and order", () => {
    expect(deviationsOf(["a", "b"], ["b", "a"], "L", {})).toEqual(["L.0", "L.1"]);
    expect(deviationsOf(["a"], ["a", ""], "L", {})).toEqual(["L"]);
  });

  it("asks the exception of a path alone", () => {
    expect(deviationsOf({}, { size: 7 }, "H", { "H.size": (value) => value === 7 })).toEqual([]);
    expect(deviationsOf({ size: 7 }, { size: 7 }, "H", { "H.size": () => false })).toEqual(["H.size"]);
  });
});

describe("isNeutral", () => {
  it.each([null, undefined, "", 0, false, [], {}, [null]])("%j is", (value) => {
    expect(isNeutral(value)).toBe(true);
  });

  it.each([1, -1, "x", true, ["x"], { a: 1 }, { "/data": {} }])("%j is not", (value) => {
    expect(isNeutral(value)).toBe(false);
  });
});
