import { expect, test } from "vitest";
import { poolSettings } from "./pool-options.js";

test("the flags become the settings of a worker, and what is not given stays unset", () => {
  expect(poolSettings({})).toEqual({});
  expect(poolSettings({ pool: "0" })).toEqual({ HOLDFAST_POOL: "0" });
  expect(poolSettings({ poolKey: ["holdfast/shell:1:0.5:64m", "r.local:5000/x:2:1:1g"] })).toEqual({
    HOLDFAST_POOL_KEYS: "holdfast/shell:1:0.5:64m,r.local:5000/x:2:1:1g",
  });
});

test.each([
  [{ pool: "two" }, /^--pool two: give a whole number/],
  [{ pool: "-1" }, /^--pool -1: /],
  [{ poolKey: ["holdfast/shell:1"] }, /^--pool-key holdfast\/shell:1: give it as IMAGE:CPU:MEMORY/],
  [
    { poolKey: ["holdfast/shell:1:1:64", "holdfast/shell:latest:1:64"] },
    /^--pool-key holdfast\/shell:latest:1:64: .*`latest`/,
  ],
])("%j is refused in words of the flag", (options, why) => {
  expect(() => poolSettings(options)).toThrow(why);
});
