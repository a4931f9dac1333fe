/** Case bank, areas 8 and 9, one-shot halves: images, creation that fails half-way, nothing piles up. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHELL_IMAGE, startFleet, type TestFleet } from "../support/fleet.js";

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await startFleet({ slots: 4, extraImages: ["entrypoint", "volume"] });
});
afterAll(() => fleet.stopAndExpectNothingLeft());

const small = { cpu: 0.25, memory_mb: 64, disk_mb: 16 };

describe("O-19: an image with an entry point", () => {
  it("has its ENTRYPOINT, CMD, USER and HEALTHCHECK ignored and its ENV kept under the request's", async () => {
    const outcome = await fleet.run({
      image: "holdfast-test/entrypoint:1",
      command: ["sh", "-c", "echo hi $FROM_IMAGE $OVER; exit 4"],
      env: { OVER: "request" },
    });

    expect(outcome).toMatchObject({ status: "FAILED", exit_code: 4, stdout: { text: "hi image request\n" } });
  });
});

describe("images that are refused before anything runs", () => {
  it.each([
    ["one that nobody lists", "python:3.99"],
    ["one with VOLUME", "holdfast-test/volume:1"],
  ])("%s is IMAGE_NOT_ALLOWED, fault policy", async (_, image) => {
    await expect(fleet.client.submit({ image, command: ["true"] })).rejects.toMatchObject({
      code: "IMAGE_NOT_ALLOWED",
      fault: "policy",
    });
  });
});

describe("resources that cannot be had", () => {
  it("larger than any host are RESOURCES_TOO_LARGE", async () => {
    const resources = { memory_mb: 4_000_000 };
    await expect(fleet.client.submit({ image: SHELL_IMAGE, command: ["true"], resources })).rejects.toMatchObject({
      code: "RESOURCES_TOO_LARGE",
      fault: "policy",
    });
  });

  it("too small even for the start are RESOURCES_TOO_SMALL with the minimum", async () => {
    const resources = { memory_mb: 2 };
    await expect(fleet.client.submit({ image: SHELL_IMAGE, command: ["true"], resources })).rejects.toMatchObject({
      code: "RESOURCES_TOO_SMALL",
      fault: "policy",
      evidence: { minimum: 16 },
    });
  });

  it("a runtime that no host has is CAPABILITY_ABSENT and says what is there instead", async () => {
    const refusal = fleet.client.submit({ image: SHELL_IMAGE, command: ["true"], runtime: "kata" });
    await expect(refusal).rejects.toMatchObject({ code: "CAPABILITY_ABSENT", fault: "policy" });
    await expect(refusal).rejects.toThrow(/runc/);
  });

  it("a user key is unknown, by name", async () => {
    const input = { image: SHELL_IMAGE, command: ["true"], user: "nobody" } as never;
    await expect(fleet.client.submit(input)).rejects.toMatchObject({ code: "INVALID_REQUEST", field: "user" });
  });
});

describe("O-21: creation that fails half-way", () => {
  it("names the caller's mistake, runs once, and leaves neither container nor capacity behind (E1, C2)", async () => {
    const mistakes = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0
        ? { working_directory: "/proc/nope", command: ["true"] }
        : {
            command: ["true"],
            files: [
              { path: "a", content: "" },
              { path: "a/b", content: "" },
            ],
          },
    );

    const outcomes = await Promise.all(
      mistakes.map((mistake) => fleet.run({ image: SHELL_IMAGE, resources: small, attempts_max: 2, ...mistake })),
    );

    for (const [n, outcome] of outcomes.entries()) {
      const code = n % 2 === 0 ? "WORKING_DIRECTORY_INVALID" : "FILE_NOT_WRITABLE";
      expect(outcome).toMatchObject({ status: "FAILED", attempt: 1, error: { code, fault: "user", retryable: false } });
      expect(outcome.error?.message).toContain(n % 2 === 0 ? "/proc/nope" : "a/b");
    }
    await fleet.expectCapacityFree(5000);
    const normal = await fleet.run({ image: SHELL_IMAGE, command: ["echo", "ok"], resources: small });
    expect(normal.stdout.text).toBe("ok\n");
  }, 120_000);
});

describe("O-22: nothing piles up", () => {
  it("30 one-shots of every ending leave containers, volumes, networks and images as before (Q1, E1)", async () => {
    await fleet.expectCapacityFree(10_000);
    const before = await fleet.engineCounts();
    const lines = ["true", "exit 3", "sleep 60"];

    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        fleet.run({
          image: SHELL_IMAGE,
          command: ["sh", "-c", lines[n % 3] ?? "true"],
          timeout_seconds: 1,
          resources: small,
        }),
      ),
    );

    await fleet.expectCapacityFree(10_000);
    expect(await fleet.engineCounts()).toEqual(before);
  }, 180_000);
});
