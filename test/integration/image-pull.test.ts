/** Images from a registry: pulled only where the list lets them be, by digest, by whoever has the right to. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "@holdfast/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { engineCall } from "../support/engine-call.js";
import {
  openTestEngine,
  runIn,
  type TestEngine,
  type TestEngineOptions,
  worldSocket,
} from "../support/engine-fixture.js";
import { CHANGES } from "../support/extra-images.js";
import { startFleet } from "../support/fleet.js";
import { forget, PASSWORD, type Registry, startRegistry, USER } from "../support/registry.js";
import { scratchFolder } from "../support/scratch.js";

const LOCAL = { image: "holdfast/shell:1" };
const UNKNOWN = `sha256:${"0".repeat(64)}`;

let registry: Registry;
let shell: { image: string; digest: string; pull: boolean };
let withVolume: { image: string; digest: string; pull: boolean };
/** Nobody gets it: an engine that once pulled a digest would not ask its registry again. */
let never: { image: string; digest: string; pull: boolean };
let folder: string;

beforeAll(async () => {
  folder = scratchFolder("pull");
  registry = await startRegistry();
  const pushed = async (repository: string, changes: object) => ({
    image: `${registry.name}/${repository}:1`,
    digest: await registry.push(worldSocket(), repository, changes),
    pull: true,
  });
  shell = await pushed("team/shell", { Env: ["PULLED=yes"] });
  never = await pushed("team/never", { Env: ["PULLED=never"] });
  withVolume = await pushed("team/volume", CHANGES.volume);
});
afterAll(async () => {
  await forgetAll();
  await registry.stop();
});

const byDigest = ({ image, digest }: { image: string; digest: string }): string =>
  `${image.slice(0, image.lastIndexOf(":"))}@${digest}`;

async function forgetAll(): Promise<void> {
  for (const image of [shell, withVolume]) await forget(worldSocket(), byDigest(image));
}

const isHere = async (image: { image: string; digest: string }): Promise<boolean> =>
  (await engineCall(worldSocket(), "GET", `/images/${byDigest(image)}/json`)).status === 200;

function credentials(password: string, mode = 0o600): string {
  const file = join(folder, `${password}-${mode}.json`);
  const auth = Buffer.from(`${USER}:${password}`).toString("base64");
  writeFileSync(file, JSON.stringify({ auths: { [registry.name]: { auth } } }));
  chmodSync(file, mode);
  return file;
}

const right = (password = PASSWORD, mode?: number) => ({ credentials_file: credentials(password, mode) });

/** Opens an engine that has none of the registry's images, and closes it after `look`. */
async function opened(options: TestEngineOptions, look: (world: TestEngine) => Promise<void> | void): Promise<void> {
  await forgetAll();
  const world = await openTestEngine(options);
  try {
    await look(world);
  } finally {
    await world.close();
  }
}

const refusals = ({ refused_images }: Engine) => refused_images.map(({ image, reason }) => [image, reason]);

describe("an image that may be pulled", () => {
  it("is fetched with the credentials of its registry, checked and offered; the next start needs no registry", async () => {
    const images = [{ ...shell, requires: { programs: ["sh"] } }];
    await opened({ images, pull: right() }, async ({ engine, notices, sandbox }) => {
      expect(engine.refused_images).toEqual([]);
      expect(engine.images).toMatchObject([
        { image: shell.image, digest: shell.digest, holds: { programs: { sh: null } } },
      ]);
      const { stdout } = await runIn(await sandbox({ image: shell.image }), ["sh", "-c", "echo pulled $PULLED"]);
      expect(stdout).toBe("pulled yes\n");
      expect(notices).toEqual([{ event: "image_pull", image: shell.image }]);

      const again = await openTestEngine({ images });
      expect(again.engine.images).toEqual(engine.images);
      await again.close();
    });
  });

  it("is fetched by nobody without the right to, and nothing else is though it is allowed", async () => {
    const absent = "it is not in this engine";
    await opened({ images: [LOCAL, shell] }, ({ engine }) => expect(refusals(engine)).toEqual([[shell.image, absent]]));

    const images = [LOCAL, { ...shell, pull: false }];
    await opened({ images, pull: right() }, ({ engine }) => expect(refusals(engine)).toEqual([[shell.image, absent]]));
    expect(await isHere(shell)).toBe(false);
  });

  it("is refused like any other where it declares VOLUME, or lacks what it must hold", async () => {
    const images = [LOCAL, withVolume, { ...shell, requires: { programs: ["no-such-program"] } }];
    await opened({ images, pull: right() }, ({ engine }) => {
      expect(refusals(engine)).toEqual([
        [shell.image, "it lacks program no-such-program"],
        [withVolume.image, expect.stringContaining("VOLUME")],
      ]);
    });
  });
});

describe("a pull that fails", () => {
  const cases = {
    "without credentials": () => [{ credentials_file: null }, "its registry refuses our credentials"] as const,
    "with a wrong password": () => [right("guessed"), "its registry refuses our credentials"] as const,
    "with a file open to everyone": () => [right(PASSWORD, 0o644), /open to everyone: chmod 600/] as const,
  };

  it.each(Object.entries(cases))("%s refuses that image alone, and tells no secret", async (_, arrange) => {
    const [pull, reason] = arrange();
    await opened({ images: [LOCAL, never], pull }, ({ engine, notices }) => {
      expect(engine.images.map(({ image }) => image)).toEqual([LOCAL.image]);
      expect(refusals(engine)).toEqual([[never.image, expect.stringMatching(reason)]]);
      const told = JSON.stringify([engine.refused_images, notices]);
      for (const secret of [PASSWORD, "guessed", folder]) expect(told).not.toContain(secret);
    });
  });

  it("for want of the digest, of a registry, or of time says which", async () => {
    const images = [LOCAL, { ...never, digest: UNKNOWN }, { ...never, image: "127.0.0.1:1/nobody/there:1" }];
    await opened({ images, pull: right() }, ({ engine }) => {
      expect(refusals(engine)).toEqual([
        ["127.0.0.1:1/nobody/there:1", "its registry cannot be reached from the engine"],
        [never.image, "its registry has nothing under that digest"],
      ]);
    });

    registry.freeze();
    try {
      await opened({ images: [LOCAL, never], pull: { ...right(), deadline_ms: 1_000 } }, ({ engine }) => {
        expect(refusals(engine)).toEqual([[never.image, "its pull took longer than 1 s"]]);
      });
    } finally {
      registry.thaw();
    }
  });
});

describe("a worker that starts", () => {
  it("pulls what its list lets it and runs tasks of it", async () => {
    await forgetAll();
    const file = join(folder, "allow.json");
    writeFileSync(file, JSON.stringify({ images: [shell] }));
    const env = { HOLDFAST_IMAGES: file, HOLDFAST_REGISTRY_CREDENTIALS: credentials(PASSWORD) };
    const fleet = await startFleet({ env });

    const { status, image_digest } = await fleet.run({ image: shell.image, command: ["true"] });

    expect([status, image_digest]).toEqual(["SUCCEEDED", shell.digest]);
    await fleet.stopAndExpectNothingLeft();
  });
});
