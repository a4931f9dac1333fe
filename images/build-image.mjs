/** Builds one image, or takes it from the cache when recipe and package versions are as they were. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { downloadPackages, listsStamp, refreshLists, resolvePackages } from "./debian-packages.mjs";
import { writeArchive } from "./image-archive.mjs";
import { buildTree } from "./image-tree.mjs";
import { readRecipe } from "./recipe.mjs";
import { checkTree } from "./tree-check.mjs";

/** The recipe's own code counts as part of every recipe. */
const CODE = ["debian-packages.mjs", "image-tree.mjs", "image-archive.mjs"];

const digest = (text) => createHash("sha256").update(text).digest("hex");

export function cacheDirectory(env = process.env) {
  return join(env["HOLDFAST_CACHE"] ?? join(homedir(), ".cache", "holdfast"), "images");
}

function recipeHash(recipe) {
  const code = CODE.map((file) => readFileSync(join(import.meta.dirname, file), "utf8"));
  return digest(JSON.stringify([recipe, process.arch, code]));
}

function writeWhole(file, text) {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

/** Package versions, from apt or from what apt said last while its lists are unchanged. */
function versionsOf(recipe, hash, cache) {
  const stamp = listsStamp();
  const file = join(cache, `${recipe.name}-versions.json`);
  if (existsSync(file)) {
    const kept = JSON.parse(readFileSync(file, "utf8"));
    if (kept.stamp === stamp && kept.hash === hash) return kept.packages;
  }
  const packages = resolvePackages(recipe);
  writeWhole(file, JSON.stringify({ stamp: listsStamp(), hash, packages }));
  return packages;
}

async function buildInto(recipe, packages, cache, key) {
  const scratch = mkdtempSync(join(cache, ".building-"));
  try {
    const debs = downloadPackages(packages, join(cache, "packages", recipe.name), scratch);
    const tree = join(scratch, "tree");
    buildTree(recipe, debs, tree);
    const archive = join(scratch, "image.tar");
    const built = await writeArchive(recipe, tree, scratch, archive);
    checkTree(recipe, tree);
    renameSync(archive, join(cache, `${key}.tar`));
    writeWhole(join(cache, `${key}.json`), JSON.stringify(built));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function dropOlder(recipe, cache, key) {
  for (const file of readdirSync(cache)) {
    const older = new RegExp(`^${recipe.name}-[0-9a-f]{16}\\.(tar|json)$`).test(file) && !file.startsWith(`${key}.`);
    if (older) rmSync(join(cache, file), { force: true });
  }
}

/** Apt's lists may name versions that the mirror has already replaced: one refresh mends that. */
async function resolveAndBuild(recipe, hash, cache, onPackages) {
  for (const again of [true, false]) {
    const packages = versionsOf(recipe, hash, cache);
    onPackages(recipe, packages);
    const key = `${recipe.name}-${digest(JSON.stringify([hash, packages])).slice(0, 16)}`;
    if (existsSync(join(cache, `${key}.json`)) && existsSync(join(cache, `${key}.tar`))) return { key, from: "cached" };
    try {
      await buildInto(recipe, packages, cache, key);
      return { key, from: "built" };
    } catch (error) {
      if (!again || packages.length === 0 || !String(error.message).startsWith("apt-get download")) throw error;
      refreshLists();
    }
  }
  throw new Error("unreachable");
}

/**
 * `{ image, id, layer, bytes, archive, from }`; `from` is `built` or `cached`. `onPackages` hears of the recipe and the
 * versions before anything is built, and may throw.
 */
export async function buildImage(name, { cache = cacheDirectory(), onPackages = () => {} } = {}) {
  mkdirSync(cache, { recursive: true });
  const recipe = readRecipe(name);
  const { key, from } = await resolveAndBuild(recipe, recipeHash(recipe), cache, onPackages);
  dropOlder(recipe, cache, key);
  const built = JSON.parse(readFileSync(join(cache, `${key}.json`), "utf8"));
  return { ...built, archive: join(cache, `${key}.tar`), from };
}
