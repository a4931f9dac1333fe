/** The import law: which room may know which, and the one place of each foreign library. */
import { builtinModules } from "node:module";
import { describe, expect, it } from "vitest";
import { filesWith, isTest, productionFiles, resolveImport, roomOf, syntaxOf, textOf } from "./source-tree.js";

const PACKAGES = ["contract", "chassis", "guest", "storage", "engine", "ledger", "queue", "client"];

/** What each room may import of ours; apps may import every package. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "packages/contract": [],
  "packages/chassis": ["contract"],
  "packages/guest": ["contract"],
  "packages/storage": ["contract"],
  "packages/engine": ["contract", "chassis", "guest"],
  "packages/ledger": ["contract", "chassis", "guest", "storage"],
  "packages/queue": ["contract", "chassis", "guest", "storage", "ledger"],
  "packages/client": ["contract", "chassis", "guest", "storage", "ledger", "queue"],
  "apps/worker": PACKAGES,
  "apps/gateway": PACKAGES,
  "apps/cli": [...PACKAGES, "worker", "gateway"],
};

/** Where each foreign library may be named. */
const PLACE_OF: Readonly<Record<string, RegExp>> = {
  zod: /^packages\/contract\/|^apps\/[^/]+\/src\/config\.ts$/,
  ioredis: /^packages\/ledger\//,
  bullmq: /^packages\/queue\//,
  dockerode: /^packages\/engine\//,
  pino: /^packages\/chassis\//,
  "prom-client": /^packages\/chassis\//,
  fastify: /^apps\/gateway\//,
  "@bull-board/api": /^apps\/gateway\//,
  "@bull-board/fastify": /^apps\/gateway\//,
  commander: /^apps\/cli\//,
};
const IN_TESTS = new Set(["vitest", "fast-check"]);

const rooms = filesWith(".ts").filter((path) => roomOf(path) !== null);
const libraryOf = (from: string) => from.split("/", from.startsWith("@") ? 2 : 1).join("/");
const isBuiltin = (from: string) => from.startsWith("node:") || builtinModules.includes(from);

function violations(judge: (path: string, from: string) => string | null): string[] {
  return rooms.flatMap((path) =>
    syntaxOf(path).imports.flatMap(({ from, line }) => {
      const problem = judge(path, from);
      return problem === null ? [] : [`${path}:${line} ${problem}`];
    }),
  );
}

describe("import law", () => {
  it("knows every room", () => {
    const unknown = rooms.map(roomOf).filter((room) => room !== null && !(room in MAY_IMPORT));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it("lets a room import only what lies below it", () => {
    const found = violations((path, from) => {
      const ours = from.match(/^@holdfast\/([^/]+)(\/.*)?$/);
      if (ours === null) return null;
      if (ours[2] !== undefined) return `reaches inside a package: ${from}`;
      const room = roomOf(path) ?? "";
      if (room.endsWith(`/${ours[1]}`)) return `imports its own package by name: ${from}`;
      return MAY_IMPORT[room]?.includes(ours[1] ?? "") ? null : `must not import ${from}`;
    });
    expect(found).toEqual([]);
  });

  it("keeps relative imports inside the room and away from its own index", () => {
    const found = violations((path, from) => {
      if (!from.startsWith(".")) return null;
      const target = resolveImport(path, from);
      if (roomOf(target) !== roomOf(path)) return `leaves its room: ${from}`;
      return target === `${roomOf(path)}/src/index.ts` ? "imports its own index" : null;
    });
    expect(found).toEqual([]);
  });

  it("names each foreign library in one place", () => {
    const found = violations((path, from) => {
      if (from.startsWith(".") || from.startsWith("@holdfast/") || isBuiltin(from)) return null;
      const library = libraryOf(from);
      if (isTest(path) && IN_TESTS.has(library)) return null;
      const place = PLACE_OF[library];
      if (place === undefined) return `${library} has no place: give it one here and a decision record`;
      return place.test(path) ? null : `must not name ${library}`;
    });
    expect(found).toEqual([]);
  });

  it("declares in package.json what a room imports", () => {
    const found = violations((path, from) => {
      if (from.startsWith(".") || isBuiltin(from) || isTest(path)) return null;
      const manifest = JSON.parse(textOf(`${roomOf(path)}/package.json`)) as { dependencies?: object };
      return libraryOf(from) in (manifest.dependencies ?? {}) ? null : `${libraryOf(from)} is not a dependency`;
    });
    expect(found).toEqual([]);
  });

  it("lets the command line load engine, worker and gateway only once a command asks for them", () => {
    const loaded = new Set(["apps/cli/src/main.ts"]);
    const found: string[] = [];
    for (const path of loaded) {
      for (const { from, line, eager } of syntaxOf(path).imports) {
        if (!eager) continue;
        if (/^@holdfast\/(engine|worker|gateway)$/.test(from)) found.push(`${path}:${line} loads ${from}`);
        if (from.startsWith(".")) loaded.add(resolveImport(path, from));
      }
    }
    expect(loaded.size).toBeGreaterThan(30);
    expect(found).toEqual([]);
  });

  it("has no circle of files", () => {
    expect(circles(productionFiles())).toEqual([]);
  });

  it("finds a circle where there is one", () => {
    const edges: Record<string, string[]> = { a: ["b"], b: ["c"], c: ["b"] };
    expect(circles(["a", "b", "c"], (path) => edges[path] ?? [])).toEqual(["b -> c -> b"]);
  });
});

function edgesOf(path: string): string[] {
  const { imports } = syntaxOf(path);
  return imports.filter(({ from }) => from.startsWith(".")).map(({ from }) => resolveImport(path, from));
}

function circles(files: readonly string[], edges: (path: string) => string[] = edgesOf): string[] {
  const known = new Set(files);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]) => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path].join(" -> "));
    if (at >= 0 || done.has(path)) return;
    for (const next of edges(path)) if (known.has(next)) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
  return found;
}
