/**
 * Builds the guest agent: one static program that needs nothing from an image. The same sources and compiler give the
 * same bytes, whose sha-256 is the agent's identity everywhere. Beside it comes the prover, which runs against the
 * limits of a sandbox for `holdfast doctor`. `--test` also builds the probe that tests talk to.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const sourceDirectory = dirname(fileURLToPath(import.meta.url));
const buildDirectory = join(sourceDirectory, "..", "build");
const compiler = "cc";
const FLAGS = [
  ..."-std=c11 -D_GNU_SOURCE -static -Os -s -Wall -Wextra -Werror".split(" "),
  ..."-fstack-protector-strong -fno-ident -ffile-prefix-map=.=. -Wl,--build-id=none -Wl,-z,noexecstack".split(" "),
];
const MISSING = "Building the guest agent needs a C compiler and libc's static archive: apt-get install gcc libc6-dev";

function run(command, args) {
  return execFileSync(command, args, { cwd: sourceDirectory, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function compilerVersion() {
  try {
    const archive = run(compiler, ["-print-file-name=libc.a"]).trim();
    if (!existsSync(archive)) throw new Error(MISSING);
    const libc = createHash("sha256").update(readFileSync(archive)).digest("hex");
    return `${run(compiler, ["--version"])}${run(compiler, ["-dumpmachine"])}${libc}`;
  } catch (error) {
    if (error.code === "ENOENT") throw new Error(MISSING);
    throw error;
  }
}

function filesEnding(directory, ending) {
  return readdirSync(join(sourceDirectory, directory))
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(directory, name));
}

function fingerprint(version, sources) {
  const hash = createHash("sha256").update(`${version}\0${FLAGS.join(" ")}\0`);
  for (const name of [...sources, ...filesEnding(".", ".h"), ...filesEnding("../prover", ".h")]) {
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(sourceDirectory, name)))
      .update("\0");
  }
  return hash.digest("hex");
}

function isFresh(program, inputs) {
  const stamp = `${program}.inputs`;
  return existsSync(program) && existsSync(stamp) && readFileSync(stamp, "utf8") === inputs;
}

/** Each file appears whole: several builds may run at once. */
function writeWhole(path, text) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function build(name, sources, version) {
  const program = join(buildDirectory, name);
  const inputs = fingerprint(version, sources);
  if (isFresh(program, inputs)) return program;
  const draft = `${program}.${process.pid}`;
  try {
    run(compiler, [...FLAGS, "-o", draft, ...sources]);
  } catch (error) {
    rmSync(draft, { force: true });
    throw new Error(`${compiler} failed:\n${error.stderr || error.message}`);
  }
  const digest = createHash("sha256").update(readFileSync(draft)).digest("hex");
  rmSync(`${program}.inputs`, { force: true });
  renameSync(draft, program);
  writeWhole(`${program}.sha256`, `${digest}\n`);
  writeWhole(`${program}.inputs`, inputs);
  return program;
}

function main() {
  mkdirSync(buildDirectory, { recursive: true });
  const version = compilerVersion();
  const sources = filesEnding(".", ".c");
  build("holdfast-agent", sources, version);
  build("holdfast-prover", filesEnding("../prover", ".c"), version);
  if (process.argv.includes("--test")) {
    const parts = sources.filter((name) => name !== "main.c");
    build("holdfast-agent-probe", [...parts, ...filesEnding("test", ".c")], version);
  }
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
