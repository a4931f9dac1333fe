import { describe, expect, test } from "vitest";
import { ConfigError, loadConfig, maskSecrets, maskUrl } from "./load-config.js";

const refusing = {
  safeParse: () => ({
    success: false as const,
    error: {
      issues: [
        { path: ["HOLDFAST_SLOTS"], message: "must be a number" },
        { path: ["REDIS_URL"], message: "is required" },
      ],
    },
  }),
};

describe("loadConfig", () => {
  test("names every bad variable at once", () => {
    const attempt = () => loadConfig(refusing, {});

    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(/HOLDFAST_SLOTS: must be a number; REDIS_URL: is required/);
  });

  test("an empty variable counts as unset", () => {
    const echo = { safeParse: (data: unknown) => ({ success: true as const, data }) };

    expect(loadConfig(echo, { A: "", B: "x", C: undefined })).toEqual({ B: "x" });
  });
});

describe("masks", () => {
  test("a password inside a URL is never shown, whatever the key", () => {
    expect(maskUrl("redis://me:pa@ss@10.0.0.1:6379/1")).toBe("redis://me:***@10.0.0.1:6379/1");
    expect(maskUrl("redis://:pass@h")).toBe("redis://:***@h");
    expect(maskUrl("redis://h:6379")).toBe("redis://h:6379");
    expect(maskUrl(`${"x".repeat(50)}redis://a:pass@h`)).toBe(`${"x".repeat(50)}redis://a:***@h`);
  });

  test("named keys are masked where they hold something", () => {
    const shown = maskSecrets({ operator_password: "x", empty: "", url: "redis://a:b@c", slots: 4 }, [
      "operator_password",
      "empty",
    ]);

    expect(shown).toEqual({ operator_password: "***", empty: "", url: "redis://a:***@c", slots: 4 });
  });
});
