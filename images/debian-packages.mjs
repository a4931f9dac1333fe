/** Which Debian packages a recipe needs, at which version, and their files: apt decides, nothing is listed by hand. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
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
    const provides = (field("Provides") ?? "").split(",").map((item) => item.trim().replace(/[ :(].*$/, ""));
    found.set(name, { name, version: field("Version"), sha256: field("SHA256"), groups, provides });
  }
  return found;
}

/** The first real package of a group; else, by name, the first that provides one of it. */
function realName(found, group) {
  const real = group.find((item) => found.has(item));
  if (real !== undefined) return real;
  const providers = [...found.values()].filter(({ provides }) => provides.some((item) => group.includes(item)));
  return providers.map(({ name }) => name).sort()[0];
}

function choose(found, without, group, from) {
  if (group.some((name) => without.has(name))) return null;
  const name = realName(found, group);
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

/** Files of `directory` by content; what nobody wants any more is removed. */
function kept(wanted, directory) {
  const sums = new Set(wanted.map(({ sha256 }) => sha256));
  const files = new Map();
  for (const name of readdirSync(directory).filter((file) => file.endsWith(".deb"))) {
    const file = join(directory, name);
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    if (sums.has(sum)) files.set(sum, file);
    else rmSync(file, { force: true });
  }
  return files;
}

/**
 * The files of exactly these versions, sorted: kept in `directory` from the last time, or downloaded by way of
 * `scratch`. Each is what apt's signed lists promise.
 */
export function downloadPackages(wanted, directory, scratch) {
  if (wanted.length === 0) return [];
  mkdirSync(directory, { recursive: true });
  const had = kept(wanted, directory);
  const missing = wanted.filter(({ sha256 }) => !had.has(sha256));
  if (missing.length > 0) download(missing, scratch);
  for (const name of readdirSync(scratch).filter((file) => file.endsWith(".deb"))) {
    renameSync(join(scratch, name), join(directory, name));
  }
  const files = kept(wanted, directory);
  const absent = wanted.filter(({ sha256 }) => !files.has(sha256)).map(({ name }) => name);
  if (absent.length > 0) throw new Error(`not what apt's lists promise: ${absent.join(", ")}`);
  return [...files.values()].sort();
}
