/**
 * Writes the archive that engines load. Nothing in it depends on the machine or the moment, so the image id
 * (the sha-256 of the image's config) is the same wherever the same package versions are built.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const CREATED = "2024-01-01T00:00:00Z";
const ARCHITECTURES = { x64: "amd64", arm64: "arm64" };

const SAME_EVERYWHERE = [
  "--format=gnu",
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--mode=a-s,go-w,a+rX",
];

function tar(directory, file) {
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  execFileSync("tar", [...SAME_EVERYWHERE, "-C", directory, "-cf", file, "."], { env });
}

async function sha256(file) {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

function configOf(recipe, layer) {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) throw new Error(`images are not built on ${process.arch}`);
  return {
    architecture,
    config: { Env: Object.entries(recipe.env).map(([key, value]) => `${key}=${value}`) },
    created: CREATED,
    history: [{ created: CREATED, created_by: `recipe ${recipe.name}` }],
    os: "linux",
    rootfs: { type: "layers", diff_ids: [layer] },
  };
}

/** Packs `tree` as `archive`; `scratch` is a folder to work in. Refuses a layer above the recipe's budget. */
export async function writeArchive(recipe, tree, scratch, archive) {
  const parts = join(scratch, "parts");
  mkdirSync(parts);
  const layerFile = join(parts, "layer.tar");
  tar(tree, layerFile);
  const bytes = statSync(layerFile).size;
  if (bytes > recipe.size_mb_max * 1_000_000) {
    throw new Error(`${recipe.image} has ${bytes} bytes; its budget is ${recipe.size_mb_max} MB`);
  }
  const layer = `sha256:${await sha256(layerFile)}`;
  const config = JSON.stringify(configOf(recipe, layer));
  const id = createHash("sha256").update(config).digest("hex");
  writeFileSync(join(parts, `${id}.json`), config);
  const manifest = [{ Config: `${id}.json`, RepoTags: [recipe.image], Layers: ["layer.tar"] }];
  writeFileSync(join(parts, "manifest.json"), JSON.stringify(manifest));
  tar(parts, archive);
  return { image: recipe.image, id: `sha256:${id}`, layer, bytes };
}
