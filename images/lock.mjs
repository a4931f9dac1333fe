/**
 * The package versions that a recipe was last looked over with. Debian replaces versions in place, so a lock cannot
 * bring an old one back: it tells that a build differs, and by what, or refuses such a build.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const LOCKS = join(import.meta.dirname, "locks");

const fileOf = (recipe, directory) => join(directory, `${recipe.name}.json`);

/** Each package that is not as it was locked: `git 1.0 -> 1.1`, `jq - -> 1.7`. */
export function differencesFromLock(recipe, packages, directory = LOCKS) {
  const file = fileOf(recipe, directory);
  const locked = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).packages : {};
  const now = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  const names = [...new Set([...Object.keys(locked), ...Object.keys(now)])].sort();
  return names
    .filter((name) => locked[name] !== now[name])
    .map((name) => `${name} ${locked[name] ?? "-"} -> ${now[name] ?? "-"}`);
}

export function writeLock(recipe, packages, directory = LOCKS) {
  if (packages.length === 0) return;
  mkdirSync(directory, { recursive: true });
  const versions = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  writeFileSync(fileOf(recipe, directory), `${JSON.stringify({ packages: versions }, null, 2)}\n`);
}
