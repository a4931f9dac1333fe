/** Whether a built tree holds what the allow list requires of its image: an image that lacks it is never archived. */
import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inTree } from "./image-tree.mjs";

const NOTHING = { programs: [], imports: [] };

function requiresOf(image) {
  const { images } = JSON.parse(readFileSync(join(import.meta.dirname, "allow.json"), "utf8"));
  return { ...NOTHING, ...images.find((entry) => entry.image === image)?.requires };
}

function holdsProgram(recipe, tree, program) {
  const folders = program.startsWith("/") ? [""] : (recipe.env.PATH ?? "").split(":");
  return folders.some((folder) => lstatSync(join(tree, folder, program), { throwIfNoEntry: false }) !== undefined);
}

function imports(tree, name) {
  const [program, ...args] = inTree(tree, "/usr/bin/python3", "-B", "-c", `import ${name}`);
  const env = { PATH: process.env.PATH, MPLCONFIGDIR: "/tmp", OPENBLAS_NUM_THREADS: "1" };
  return spawnSync(program, args, { env, stdio: "ignore", timeout: 120_000 }).status === 0;
}

/** Runs code of the tree, which may leave files in it: call it when the tree has been packed. */
export function checkTree(recipe, tree) {
  const wanted = requiresOf(recipe.image);
  const programs = wanted.programs.filter((program) => !holdsProgram(recipe, tree, program));
  const modules = wanted.imports.filter((name) => !imports(tree, name));
  const missing = [...programs.map((name) => `program ${name}`), ...modules.map((name) => `import ${name}`)];
  if (missing.length > 0) throw new Error(`${recipe.image} lacks ${missing.join(", ")}`);
}
