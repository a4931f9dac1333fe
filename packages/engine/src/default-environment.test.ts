import { describe, expect, it } from "vitest";
import { defaultEnvironment, parseImageEnvironment, sandboxEnvironment } from "./default-environment.js";

const resources = { cpu: 2.5, memory_mb: 64, disk_mb: 16, pids_limit: 16 };

describe("defaultEnvironment", () => {
  it("gives numeric libraries as many threads as whole cores were granted, at least one", () => {
    expect(defaultEnvironment(resources)["OMP_NUM_THREADS"]).toBe("2");
    expect(defaultEnvironment({ ...resources, cpu: 0.2 })["MKL_NUM_THREADS"]).toBe("1");
  });

  it("names writable places only", () => {
    const { HOME, TMPDIR } = defaultEnvironment(resources);

    expect([HOME, TMPDIR]).toEqual(["/workspace", "/tmp"]);
  });
});

describe("sandboxEnvironment", () => {
  it("lies over the image's, but for the image's own PATH", () => {
    const merged = sandboxEnvironment({ PATH: "/venv/bin", HOME: "/root", A: "1" }, resources);

    expect(merged).toMatchObject({ PATH: "/venv/bin", HOME: "/workspace", A: "1" });
  });
});

describe("parseImageEnvironment", () => {
  it("splits at the first sign of equality and keeps empty values", () => {
    expect(parseImageEnvironment(["A=b=c", "E=", "=x"])).toEqual({ A: "b=c", E: "" });
  });
});
