/** Reads an image recipe: a strict JSON file, so that a misspelt key never passes unseen. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const DIRECTORY = join(import.meta.dirname, "recipes");

const isText = (value) => typeof value === "string" && value !== "";
const isTexts = (value) => Array.isArray(value) && value.every(isText);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTextMap = (value) => typeof value === "object" && value !== null && Object.values(value).every(isText);

const KEYS = {
  image: { check: isText },
  /** The recipe this one adds to: lists and maps are joined, its own values win. */
  base: { check: isText, fallback: null },
  /** Built where it is named only. */
  optional: { check: (value) => typeof value === "boolean", fallback: false },
  /** Debian packages; what they depend on comes along. */
  packages: { check: isTexts },
  /** Packages, real or virtual, that are left out although something depends on them. */
  without: { check: isTexts, fallback: [] },
  /** Paths removed after unpacking; `*` stands for one whole segment. */
  drop: { check: isTexts, fallback: [] },
  /** Link path to target; where its folder holds `*`, one in each such folder that has the target. */
  links: { check: isTextMap, fallback: {} },
  /** File path to content. */
  files: { check: isTextMap, fallback: {} },
  /** File path to the folder whose `.crt` files it joins. */
  bundles: { check: isTextMap, fallback: {} },
  /** A multi-call program and the folder that gets a link for each thing it can do. */
  applets: { check: (value) => isText(value?.of) && isText(value?.into), fallback: null },
  /** An interpreter of the tree and the folders whose modules it compiles, so that no sandbox does it at each start. */
  compile: { check: (value) => isText(value?.with) && isTexts(value?.folders), fallback: null },
  env: { check: isTextMap, fallback: {} },
  /** Budget of the unpacked layer, in 10^6 bytes. */
  size_mb_max: { check: (value) => Number.isInteger(value) && value > 0 },
};

/** One level deep: what a map or list of the base holds stays, unless the recipe names it anew. */
function joined(base, own) {
  if (Array.isArray(base) && Array.isArray(own)) return [...base, ...own];
  if (isObject(base) && isObject(own)) {
    const keys = new Set([...Object.keys(base), ...Object.keys(own)]);
    return Object.fromEntries([...keys].map((key) => [key, joined(base[key], own[key])]));
  }
  return own ?? base;
}

function read(name) {
  const own = JSON.parse(readFileSync(join(DIRECTORY, `${name}.json`), "utf8"));
  return own.base === undefined ? own : joined(read(own.base), own);
}

function parse(name, given) {
  const unknown = Object.keys(given).filter((key) => !(key in KEYS));
  if (unknown.length > 0) throw new Error(`recipe ${name}: unknown key ${unknown.join(", ")}`);
  const recipe = { name };
  for (const [key, { check, fallback }] of Object.entries(KEYS)) {
    if (given[key] !== undefined && !check(given[key])) throw new Error(`recipe ${name}: ${key} is not valid`);
    if (given[key] === undefined && fallback === undefined) throw new Error(`recipe ${name}: ${key} is missing`);
    recipe[key] = given[key] ?? fallback;
  }
  return recipe;
}

export function recipeNames() {
  return readdirSync(DIRECTORY)
    .filter((file) => file.endsWith(".json"))
    .map((file) => basename(file, ".json"))
    .sort();
}

/** Those that are built where none is named. */
export function usualNames() {
  return recipeNames().filter((name) => !readRecipe(name).optional);
}

export function readRecipe(name) {
  if (!recipeNames().includes(name)) throw new Error(`no recipe ${name}; there are: ${recipeNames().join(", ")}`);
  return parse(name, read(name));
}
