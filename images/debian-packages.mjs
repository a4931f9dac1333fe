/** Which Debian packages a recipe needs, at which version, and their files: apt decides, nothing is listed by hand. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const LISTS = "/var/lib/apt/lists";
const isRoot = process.getuid?.() === 0;

function run(program, args, options = {}) {
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, LC_ALL: "C" },
      ...options,
    });
  } catch (error) {
    if (error.code === "ENOENT") {
      throw new Error(`${program} is not here: building an image needs Debian's apt and dpkg (images/README.md)`);
    }
    throw new Error(`${program} ${args[0]} failed: ${String(error.stderr ?? error.message).slice(-800)}`);
  }
}

function packageLists() {
  try {
    return readdirSync(LISTS).filter((file) => file.includes("_Packages"));
  } catch {
    return [];
  }
}

export function refreshLists() {
  if (!isRoot) throw new Error("Debian's package lists are missing or old: run apt-get update as root");
  run("apt-get", ["update", "-q"]);
}

/** Changes whenever apt's lists do; lets a warm build skip asking apt. */
export function listsStamp() {
  const hash = createHash("sha256");
  for (const file of packageLists().sort()) {
    const { size, mtimeMs } = statSync(join(LISTS, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

function parseStanzas(text) {
  const found = new Map();
  for (const stanza of text.split("\n\n")) {
    const field = (name) => stanza.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
    const name = field("Package");
    if (name === undefined || found.has(name) || field("Filename") === undefined) continue;
    const groups = [field("Pre-Depends"), field("Depends")]
      .filter((list) => list !== undefined)
      .flatMap((list) => list.split(","))
      .map((group) => group.split("|").map((item) => item.trim().replace(/[ :(].*$/, "")));
    found.set(name, { name, version: field("Version"), sha256: field("SHA256"), groups });
  }
  return found;
}

function choose(found, without, group, from) {
  if (group.some((name) => without.has(name))) return null;
  const name = group.find((item) => found.has(item));
  if (name === undefined) throw new Error(`${from} needs ${group.join(" or ")}, which is in no package list`);
  return name;
}

/** The packages of a recipe and all they depend on, sorted by name: `{ name, version, sha256 }`. */
export function resolvePackages(recipe) {
  if (recipe.packages.length === 0) return [];
  if (packageLists().length === 0) refreshLists();
  const quiet = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map((kind) => `--no-${kind}`);
  const around = run("apt-cache", ["depends", "--recurse", ...quiet, ...recipe.packages]);
  const names = [...new Set(around.split("\n").filter((line) => /^[a-z0-9][a-z0-9.+-]*$/.test(line)))];
  const found = parseStanzas(run("apt-cache", ["show", "--no-all-versions", ...names]));
  const without = new Set(recipe.without);
  const chosen = new Set();
  const open = recipe.packages.map((name) => choose(found, without, [name], `recipe ${recipe.name}`));
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (name === null || chosen.has(name)) continue;
    chosen.add(name);
    for (const group of found.get(name).groups) {
      if (!group.some((item) => chosen.has(item))) open.push(choose(found, without, group, name));
    }
  }
  return [...chosen].sort().map((name) => {
    const { version, sha256 } = found.get(name);
    return { name, version, sha256 };
  });
}

function download(wanted, directory) {
  const sandbox = isRoot ? ["-o", "APT::Sandbox::User=root"] : [];
  run("apt-get", ["download", "-q", ...sandbox, ...wanted.map(({ name, version }) => `${name}=${version}`)], {
    cwd: directory,
  });
}

/** Downloads exactly these versions and checks each against apt's signed lists. Returns the files, sorted. */
export function downloadPackages(wanted, directory) {
  if (wanted.length === 0) return [];
  download(wanted, directory);
  const files = readdirSync(directory).filter((file) => file.endsWith(".deb"));
  const sums = new Set(wanted.map(({ sha256 }) => sha256));
  for (const file of files) {
    const sum = createHash("sha256")
      .update(readFileSync(join(directory, file)))
      .digest("hex");
    if (!sums.delete(sum)) throw new Error(`${file} is not what apt's lists promise`);
  }
  if (sums.size > 0) throw new Error(`${sums.size} packages were not downloaded`);
  return files.sort().map((file) => join(directory, file));
}
