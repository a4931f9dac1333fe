/** `holdfast images` as an operator uses it: what is offered, what is not and why, and how another comes to be. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scratchFolder } from "../support/scratch.js";
import { waitFor } from "../support/wait-for.js";
import { type Bench, buildPrograms, type Ended, openBench } from "./cli-bench.js";

const ABSENT = "holdfast-test/absent:1";
const SHELL = { image: "holdfast/shell:1", requires: { programs: ["sh"] } };
const PYTHON = { image: "holdfast/python:3.11-1", requires: { programs: ["python3"], imports: ["json"] } };

let bench: Bench;
let file: string;

beforeAll(async () => {
  buildPrograms();
  bench = openBench();
  file = join(scratchFolder("allow"), "allow.json");
});
afterAll(() => bench.close());

const holdfast = (...words: string[]): Promise<Ended> => bench.start(words, undefined, { HOLDFAST_IMAGES: file }).ended;
const list = (): { images: { image: string; digest: string | null }[] } => JSON.parse(readFileSync(file, "utf8"));
const views = ({ stdout }: Ended): Record<string, unknown>[] =>
  stdout
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("holdfast images", () => {
  it("allow makes a list, pins what the engine holds, and may be repeated", async () => {
    const added = await holdfast("images", "allow", SHELL.image, "--require-program", "sh");
    const again = await holdfast("images", "allow", SHELL.image);

    expect([added.code, added.stderr]).toEqual([0, ""]);
    expect(list().images).toMatchObject([{ ...SHELL, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) }]);
    expect(added.stdout.toString()).toMatch(/is allowed now, as sha256:.*\nnext: restart the worker/);
    expect(again.stdout.toString()).toMatch(/was allowed already/);
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it("allow says what is missing of an image that is not there, and refuses a name that names no version", async () => {
    const absent = await holdfast("images", "allow", ABSENT);
    const latest = await holdfast("images", "allow", "holdfast/shell:latest");

    expect(absent.stdout.toString()).toMatch(/not pinned.*\nnext: it is not in this engine: bring it into/);
    expect([latest.code, latest.stderr]).toEqual([2, expect.stringMatching(/^holdfast: .*latest.*\n$/)]);
    expect(list().images.map(({ image }) => image)).toEqual([SHELL.image, ABSENT]);
  });

  it("without a fleet shows what this machine has, with it what its hosts found and refused", async () => {
    const alone = await holdfast("images");
    expect(alone.stderr).toContain("no fleet runs");
    expect(alone.stdout.toString()).toMatch(/holdfast\/shell:1 +this machine +it is allowed here and not offered/);

    writeFileSync(file, JSON.stringify({ images: [...list().images, PYTHON] }));
    const up = bench.start(["up", "--port", "0"], undefined, { HOLDFAST_IMAGES: file });
    await waitFor(() => up.stdout().includes("ready"), { bound_ms: 60_000, what: "up is ready" });
    const [absent, python, shell] = views(await holdfast("images", "--json"));

    expect(absent).toMatchObject({ image: ABSENT, hosts: [], refused: [{ reason: "it is not in this engine" }] });
    expect(python).toMatchObject({
      ...{ name: "holdfast/python", version: "3.11-1", digest: expect.stringMatching(/^sha256:/), refused: [] },
      languages: [{ name: "python", version: expect.stringMatching(/^3\.11\./) }],
      packages: { programs: { python3: expect.stringMatching(/^3\.11\./) }, imports: { json: null } },
    });
    expect(shell).toMatchObject({ hosts: python?.["hosts"], languages: [{ name: "sh", version: null }] });
    const table = (await holdfast("images")).stdout.toString();
    expect(table).toMatch(/^NAME +VERSION +DIGEST +LANGUAGES +PACKAGES +HOSTS\n/);
    expect(table).toMatch(/holdfast-test\/absent:1 +host_[0-9a-z]+ +it is not in this engine/);
  });
});
