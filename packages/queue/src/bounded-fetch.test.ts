import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { withinBounds } from "./bounded-fetch.js";

const folder = join(dirname(createRequire(import.meta.url).resolve("bullmq")), "scripts");
const scripts = readdirSync(folder).filter((file) => file.endsWith(".js"));
const textOf = (file: string): string => readFileSync(join(folder, file), "utf8");

test("every script by which the pinned BullMQ hands a job to a worker is bounded", () => {
  const fetching = scripts.filter((file) => textOf(file).includes('HGETALL", jobKey), jobId'));

  expect(fetching.map((file) => file.split("-")[0])).toEqual(["moveToActive", "moveToDelayed", "moveToFinished"]);
  for (const file of fetching) {
    const bounded = withinBounds(textOf(file));
    expect(bounded).toContain("job_within_bounds(jobKey), jobId, 0, 0");
    expect(bounded).not.toContain('rcall("HGETALL"');
  }
});

test("a BullMQ that reads jobs in another way is not taken for bounded", () => {
  expect(() => withinBounds("return 1")).toThrow(/unknown way/);
});
