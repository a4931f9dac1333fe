/** Unpacks packages into one tree and strips what no program needs at run time. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Debian's packages ship both spellings; one tree has one place for each program. */
const MERGED = ["bin", "sbin", "lib", "lib64"];

function unpack(debs, tree) {
  for (const name of MERGED) {
    mkdirSync(join(tree, "usr", name), { recursive: true });
    symlinkSync(`usr/${name}`, join(tree, name));
  }
  for (const deb of debs) {
    const files = execFileSync("dpkg-deb", ["--fsys-tarfile", deb], { maxBuffer: 512 * 1024 * 1024 });
    execFileSync("tar", ["-x", "--keep-directory-symlink", "--no-same-owner", "-p", "-C", tree], { input: files });
  }
}

const isFolder = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function expand(tree, pattern) {
  let found = [""];
  for (const segment of pattern.split("/")) {
    found = found.flatMap((base) => {
      if (segment !== "*") return existsSync(join(tree, base, segment)) ? [join(base, segment)] : [];
      return isFolder(join(tree, base)) ? readdirSync(join(tree, base)).map((name) => join(base, name)) : [];
    });
  }
  return found;
}

function put(tree, path, write) {
  const place = join(tree, path);
  mkdirSync(dirname(place), { recursive: true });
  rmSync(place, { force: true, recursive: true });
  write(place);
}

function link(tree, path, target) {
  const folders = path.includes("*")
    ? expand(tree, dirname(path)).filter((folder) => existsSync(join(tree, folder, target)))
    : [dirname(path)];
  for (const folder of folders) put(tree, join(folder, basename(path)), (at) => symlinkSync(target, at));
}

function joinCertificates(tree, folder) {
  const directory = join(tree, folder);
  return readdirSync(directory)
    .filter((name) => name.endsWith(".crt"))
    .sort()
    .map((name) => readFileSync(join(directory, name), "utf8").trimEnd())
    .join("\n");
}

function linkApplets(tree, { of, into }) {
  const program = join(tree, of);
  const list = execFileSync(program, ["--list"], { encoding: "utf8" });
  for (const name of list.split("\n").filter((line) => line !== "" && line !== "busybox")) {
    if (!existsSync(join(tree, into, name))) symlinkSync("busybox", join(tree, into, name));
  }
}

/** Folders that packages left without content say nothing to a program; a merged root needs its four. */
function dropEmpty(tree, path, keep) {
  for (const name of readdirSync(join(tree, path))) {
    const inner = join(path, name);
    if (lstatSync(join(tree, inner)).isDirectory()) dropEmpty(tree, inner, keep);
  }
  if (!keep.has(path) && readdirSync(join(tree, path)).length === 0) rmSync(join(tree, path), { recursive: true });
}

/** The words that run a program of the tree with the tree as its root. */
export function inTree(tree, ...words) {
  const call = ["chroot", tree, ...words];
  return process.getuid() === 0 ? call : ["unshare", "--map-root-user", ...call];
}

/** Hash-based files that are never checked against their sources bear no time: the bytes are the same everywhere. */
function compileModules(tree, { with: program, folders }) {
  const options = ["-I", "-S", "-m", "compileall", "-q", "-j1", "--invalidation-mode", "unchecked-hash"];
  const modules = folders.map((folder) => join("/", folder));
  const words = inTree(tree, join("/", program), ...options, ...modules);
  execFileSync(words[0], words.slice(1), { env: { PATH: process.env.PATH, PYTHONHASHSEED: "0" } });
}

/** Fills `tree` with what the recipe tells. */
export function buildTree(recipe, debs, tree) {
  mkdirSync(tree, { recursive: true });
  chmodSync(tree, 0o755);
  if (debs.length > 0) unpack(debs, tree);
  for (const pattern of recipe.drop) {
    for (const path of expand(tree, pattern)) rmSync(join(tree, path), { force: true, recursive: true });
  }
  for (const [path, content] of Object.entries(recipe.files)) put(tree, path, (at) => writeFileSync(at, content));
  for (const [path, folder] of Object.entries(recipe.bundles)) {
    const content = `${joinCertificates(tree, folder)}\n`;
    put(tree, path, (at) => writeFileSync(at, content));
  }
  for (const [path, target] of Object.entries(recipe.links)) link(tree, path, target);
  if (recipe.applets !== null) linkApplets(tree, recipe.applets);
  if (recipe.compile !== null) compileModules(tree, recipe.compile);
  if (debs.length > 0) dropEmpty(tree, "", new Set(["", ...MERGED.map((name) => join("usr", name)), "tmp", "root"]));
}
