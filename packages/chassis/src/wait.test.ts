import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { deadline, pause, unlessAborted, until } from "./wait.js";

test("deadline gives the promise's value in time and the late answer otherwise", async () => {
  expect(await deadline(Promise.resolve("value"), 1_000, () => "late")).toBe("value");
  expect(await deadline(new Promise<string>(() => {}), 1, () => "late")).toBe("late");
  await expect(
    deadline(new Promise<string>(() => {}), 1, () => {
      throw new Error("too late");
    }),
  ).rejects.toThrow("too late");
});

test("pause ends at once when its signal is aborted, also beforehand", async () => {
  const abort = new AbortController();
  const long = pause(3_600_000, abort.signal);
  abort.abort();

  await long;
  await pause(3_600_000, abort.signal);
});

test("work under a signal gives its value or null, and leaves nothing with a signal that outlives it", async () => {
  const abort = new AbortController();

  expect(await unlessAborted(Promise.resolve("value"), abort.signal)).toBe("value");
  await expect(unlessAborted(Promise.reject(new Error("broken")), abort.signal)).rejects.toThrow("broken");
  expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  const given_up = unlessAborted(new Promise<string>(() => {}), abort.signal);
  abort.abort();
  expect(await given_up).toBeNull();
  expect(await unlessAborted(Promise.resolve("late"), abort.signal)).toBeNull();
});

test("until tells whether the condition came to hold within its bound", async () => {
  let looks = 0;

  expect(await until(() => ++looks === 3, { every_ms: 1, within_ms: 5_000 })).toBe(true);
  expect(looks).toBe(3);
  expect(await until(async () => false, { every_ms: 1, within_ms: 3 })).toBe(false);
});
