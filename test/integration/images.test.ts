/** Images of the recipes: the same id wherever they are built, within their budget, and holding what the list asks. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseImageList } from "@holdfast/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineAsk } from "../support/engine-call.js";
import { scratchFolder } from "../support/scratch.js";

const ROOT = join(import.meta.dirname, "..", "..");
const ENGINE_SOCKET = "HOLDFAST_TEST_ENGINE_SOCKET";
const CACHE = "HOLDFAST_CACHE";
const SOCKET = process.env[ENGINE_SOCKET] ?? "";

let cache: string;
beforeAll(() => {
  cache = scratchFolder("images");
});
afterAll(() => rmSync(cache, { recursive: true, force: true }));

/** An empty cache, but for the packages that set-up has downloaded: what they hold is checked by their sums. */
function freshCache(name: string): void {
  const packages = join(process.env[CACHE] ?? join(homedir(), ".cache", "holdfast"), "images", "packages");
  mkdirSync(join(cache, name, "images"), { recursive: true });
  if (existsSync(packages)) cpSync(packages, join(cache, name, "images", "packages"), { recursive: true });
}

/** One line of the builder a recipe: name, id, size, where it came from, what the engine did. */
function build(cacheName: string, ...args: string[]): string[][] {
  return buildAt(ROOT, cacheName, ...args);
}

function buildAt(cwd: string, cacheName: string, ...args: string[]): string[][] {
  const env = { ...process.env, [CACHE]: join(cache, cacheName) };
  const text = execFileSync(process.execPath, ["images/build.mjs", ...args], {
    cwd,
    env,
    encoding: "utf8",
    stdio: "pipe",
  });
  return text
    .trim()
    .split("\n")
    .map((line) => line.split("  "));
}

const idsOf = (lines: string[][]) => Object.fromEntries(lines.map(([image, id]) => [image, id]));

describe("image recipes", () => {
  it("give the same image ids when everything is built twice from nothing", () => {
    freshCache("first");
    freshCache("second");
    const first = build("first", "--no-load");
    const second = build("second", "--no-load");

    expect(first.map(([image]) => image)).toEqual(["holdfast/empty:1", "holdfast/python:3.11-1", "holdfast/shell:1"]);
    expect([...first, ...second].map(([, , , from]) => from)).toEqual(Array(6).fill("built"));
    expect(idsOf(second)).toEqual(idsOf(first));
  }, 300_000);

  it("are taken from the cache and from the engine when nothing changed", () => {
    build("first", "--socket", SOCKET, "shell", "empty");
    const again = build("first", "--socket", SOCKET, "shell", "empty");

    expect(again.map(([, , , from, engine]) => [from, engine])).toEqual(Array(2).fill(["cached", "present"]));
  });

  it("reach the engine under the id that was computed before any engine saw them", async () => {
    for (const [image, id] of build("first", "--socket", SOCKET)) {
      const found = (await engineAsk(SOCKET, "GET", `/images/${image}/json`)) as {
        Id: string;
        Config: { Volumes: unknown; User: string; Entrypoint: unknown };
      };
      expect(found.Id).toBe(id);
      expect(found.Config.Volumes).toBeNull();
      expect(found.Config.User).toBe("");
      expect(found.Config.Entrypoint).toBeNull();
    }
  });

  it("refuse a name that no recipe has", () => {
    expect(() => build("first", "--no-load", "pyhton")).toThrow(
      /no recipe pyhton; there are: data, empty, python, shell/,
    );
  });

  it("are refused where their packages are not the locked ones, and only then, if that is asked for", () => {
    const locks = join(cache, "locks");
    const judged =
      (...more: string[]) =>
      () =>
        build("first", "--no-load", "--locks", locks, ...more, "shell");
    expect(judged("--locked")).toThrow(/holdfast\/shell:1 is not as locked: busybox-static - -> \S+\n/);
    expect(judged()()).toHaveLength(1);

    judged("--lock")();
    expect(judged("--locked")()).toHaveLength(1);
    writeFileSync(join(locks, "shell.json"), JSON.stringify({ packages: { "busybox-static": "1", gone: "2" } }));
    expect(judged("--locked")).toThrow(/busybox-static 1 -> \S+, gone 2 -> -\n/);
  });

  it("give no image where it lacks what the allow list requires of it", () => {
    freshCache("lacking");
    const copy = join(cache, "copy");
    cpSync(join(ROOT, "images"), join(copy, "images"), { recursive: true });
    const requires = { programs: ["sh", "no-such-program"], imports: [] };
    writeFileSync(
      join(copy, "images", "allow.json"),
      JSON.stringify({ images: [{ image: "holdfast/shell:1", requires }] }),
    );

    expect(() => buildAt(copy, "lacking", "--no-load", "shell")).toThrow(
      /holdfast\/shell:1 lacks program no-such-program\n/,
    );
    expect(readdirSync(join(cache, "lacking", "images")).filter((file) => file.endsWith(".tar"))).toEqual([]);
  });

  it("leave no half-built folder behind", () => {
    expect(existsSync(join(cache, "first", "images"))).toBe(true);
    const left = execFileSync("find", [cache, "-name", ".building-*"], { encoding: "utf8" });
    expect(left).toBe("");
  });
});

describe("images/allow.json", () => {
  it("lists every image that a recipe makes, by a tag that is not latest, and those not built unasked as optional", () => {
    const list = parseImageList(readFileSync(join(ROOT, "images", "allow.json"), "utf8"));
    const recipes = readdirSync(join(ROOT, "images", "recipes")).map((file) => {
      const { image, optional = false } = JSON.parse(readFileSync(join(ROOT, "images", "recipes", file), "utf8"));
      return { image, optional };
    });
    expect(list.images.map(({ image, optional }) => ({ image, optional }))).toEqual(expect.arrayContaining(recipes));
    expect(list.images).toHaveLength(recipes.length);
  });
});
