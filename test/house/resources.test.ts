/** Everything that is made outside of memory stands in the table of docs/invariants.md, with who clears it (E1). */
import { describe, expect, it } from "vitest";
import { keysOf } from "../../packages/ledger/src/keys.js";
import { allFiles, dotted, productionFiles, syntaxOf, tableUnder, textOf, walk } from "./source-tree.js";

const PAGE = "docs/invariants.md";

/** Calls that make something outlive the call, by the kind of thing. */
const MAKES: Readonly<Record<string, RegExp>> = {
  container: /\.?createContainer$/,
  volume: /\.?createVolume$/,
  network: /\.?createNetwork$/,
  folder: /(^|\.)(mkdir|mkdirSync|mkdtemp|mkdtempSync)$/,
  file: /(^|\.)(writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream)$/,
  process: /(^|\.)(spawn|fork|execFile|spawnSync|execFileSync|exec|execSync)$/,
};

const rows = () =>
  tableUnder(PAGE, "Outside resources").map(([what = "", create = "", failure = "", orphan = "", proof = ""]) => ({
    what,
    create,
    failure,
    orphan,
    proof,
  }));

function makersOf(kind: string, callee: RegExp): string[] {
  const module = { process: /^node:child_process$/, folder: /^node:fs/, file: /^node:fs/ }[kind];
  return productionFiles().filter((path) => {
    if (module !== undefined && !syntaxOf(path).imports.some(({ from }) => module.test(from))) return false;
    let makes = false;
    walk(path, {
      CallExpression(node) {
        makes ||= callee.test(dotted(node.callee));
      },
    });
    return makes;
  });
}

/** `POST /containers/create` and the like, for an engine that is asked by path. */
function enginePaths(): { kind: string; path: string }[] {
  return productionFiles().flatMap((path) =>
    ["containers", "volumes", "networks"]
      .filter((noun) => new RegExp(`["'\`]/${noun}/create`).test(textOf(path)))
      .map((noun) => ({ kind: noun.slice(0, -1), path })),
  );
}

describe("outside resources", () => {
  it("names every place that makes one", () => {
    const listed = rows();
    const made = [
      ...Object.entries(MAKES).flatMap(([kind, callee]) => makersOf(kind, callee).map((path) => ({ kind, path }))),
      ...enginePaths(),
    ];
    const missing = made.filter(
      ({ kind, path }) => !listed.some(({ what, create }) => what.startsWith(kind) && create.includes(path)),
    );
    expect(missing).toEqual([]);
  });

  it("names every purpose a container may have", () => {
    const source = textOf("packages/engine/src/engine.ts").match(/PURPOSES = \[([^\]]*)\]/)?.[1] ?? "";
    const purposes = [...source.matchAll(/"([a-z_]+)"/g)].map((match) => match[1]);
    const listed = rows().filter(({ what }) => what.startsWith("container"));
    expect(purposes.length).toBeGreaterThan(0);
    expect(purposes.filter((purpose) => !listed.some(({ what }) => what.includes(`\`${purpose}\``)))).toEqual([]);
  });

  it("names every key the ledger makes", () => {
    const listed = rows().filter(({ what }) => /^(key|channel)/.test(what));
    expect(Object.keys(keysOf("x")).filter((name) => !listed.some(({ what }) => what.includes(`\`${name}\``)))).toEqual(
      [],
    );
  });

  it("says for each how a failure and an orphan end, with tests that are there", () => {
    const files = new Set(allFiles());
    const holes = rows().filter(({ failure, orphan, proof }) => [failure, orphan, proof].some((cell) => cell === ""));
    const paths = rows().flatMap(({ proof }) => [...proof.matchAll(/`([^`]+\.test\.ts)`/g)].map((match) => match[1]));
    expect(holes).toEqual([]);
    expect(paths.filter((path) => path !== undefined && !files.has(path))).toEqual([]);
  });
});
