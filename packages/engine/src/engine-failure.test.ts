import { describe, expect, it } from "vitest";
import { failureOfConnection, failureOfStatus, isAmbiguous, isAway } from "./engine-failure.js";

const body = (message: string) => ({ message });

describe("failureOfStatus", () => {
  it.each([
    [404, "No such container: x", "not_found"],
    [409, "removal of container x is already in progress", "being_removed"],
    [500, "removal of container x is already in progress", "being_removed"],
    [409, 'Conflict. The container name "/x" is already in use by container y', "name_taken"],
    [409, "Cannot kill container: x: Container x is not running", "not_running"],
    [409, "You cannot remove a running container x. Stop the container", "conflict"],
    [500, "Cannot kill container: x: No such container: x", "not_found"],
    [500, "device or resource busy", "fault"],
    [400, "client version 1.41 is too old. Minimum supported API version is 1.44", "version_mismatch"],
    [400, "invalid reference format", "refused"],
    [403, "no", "refused"],
  ])("%d %s", (status, message, kind) => {
    expect(failureOfStatus(status, body(message))).toEqual({ kind, detail: message });
  });

  it("bounds what it keeps of the engine's text, whatever its form", () => {
    expect(failureOfStatus(500, Buffer.from("x".repeat(10_000))).detail).toHaveLength(500);
  });
});

describe("failureOfConnection", () => {
  const error = (code: string) => Object.assign(new Error(code), { code });

  it.each([
    ["ENOENT", "unreachable"],
    ["ECONNREFUSED", "unreachable"],
    ["ECONNRESET", "dropped"],
    ["EPIPE", "dropped"],
  ])("%s is %s", (code, kind) => {
    expect(failureOfConnection(error(code)).kind).toBe(kind);
  });

  it("tells what may have taken effect from what cannot", () => {
    const [refused, reset] = [failureOfConnection(error("ECONNREFUSED")), failureOfConnection(error("ECONNRESET"))];

    expect([isAmbiguous(refused), isAway(refused)]).toEqual([false, true]);
    expect([isAmbiguous(reset), isAway(reset)]).toEqual([true, true]);
  });
});
