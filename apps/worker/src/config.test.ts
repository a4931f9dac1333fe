import { ConfigError } from "@holdfast/chassis";
import { expect, test } from "vitest";
import { readWorkerConfig } from "./config.js";

test("every variable has a default, and limits are left to the host", () => {
  const config = readWorkerConfig({});

  expect(config).toMatchObject({
    REDIS_URL: "redis://127.0.0.1:6379",
    HOLDFAST_PREFIX: "holdfast",
    DOCKER_HOST: "unix:///var/run/docker.sock",
    HOLDFAST_DRAIN_GRACE_SECONDS: 30,
    HOLDFAST_ALLOW_NO_AOF: false,
  });
  expect(config.HOLDFAST_SLOTS).toBeUndefined();
  expect(config.HOLDFAST_IMAGES).toMatch(/images\/allow\.json$/);
});

test("an engine over the network is refused, and so is every other wrong variable, at once", () => {
  const read = () =>
    readWorkerConfig({ DOCKER_HOST: "tcp://10.0.0.1:2375", HOLDFAST_SLOTS: "0", REDIS_URL: "http://x" });

  expect(read).toThrow(ConfigError);
  expect(read).toThrow(/REDIS_URL.*DOCKER_HOST.*HOLDFAST_SLOTS/s);
});
