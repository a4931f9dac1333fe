/** Names that say nothing, and calls that coordination must not make. */
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { allFiles, dotted, filesWith, isTest, productionFiles, syntaxOf, textOf, walk } from "./source-tree.js";

const EMPTY_WORDS = /(^|-)(utils?|helpers?|managers?|common|misc|types|constants)(-|$)/;
const TEXT = [".ts", ".mjs", ".js", ".json", ".lua", ".c", ".h", ".py", ".md", ".yml", ".yaml", ".sh"];

const stem = (path: string) => basename(path).replace(/(\.test)?\.[a-z]+$/, "");
const plainTexts = () =>
  allFiles().filter(
    (path) => path !== "package-lock.json" && (TEXT.some((end) => path.endsWith(end)) || !/\.[a-z]+$/.test(path)),
  );

function calls(paths: readonly string[], judge: (name: string, isNew: boolean) => boolean): string[] {
  return paths.flatMap((path) => {
    const found: string[] = [];
    const note = (node: { callee: Parameters<typeof dotted>[0]; start: number }, isNew: boolean) => {
      const name = dotted(node.callee);
      if (judge(name, isNew)) found.push(`${path}:${syntaxOf(path).lineAt(node.start)} ${isNew ? "new " : ""}${name}`);
    };
    walk(path, { CallExpression: (node) => note(node, false), NewExpression: (node) => note(node, true) });
    return found;
  });
}

describe("names", () => {
  it("gives no file a name that says nothing", () => {
    expect(allFiles().filter((path) => EMPTY_WORDS.test(stem(path)))).toEqual([]);
  });

  it("writes file names in kebab-case", () => {
    const sources = filesWith(".ts", ".mjs", ".lua").filter((path) => !basename(path).includes(".config."));
    expect(sources.filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(stem(path)))).toEqual([]);
  });

  it("exports by name only", () => {
    const found = productionFiles().filter((path) => /^export default /m.test(textOf(path)));
    expect(found).toEqual([]);
  });
});

describe("calls", () => {
  it("takes no wall clock and no chance where the fleet is coordinated: Redis time is its only clock", () => {
    const rooms = /^(packages\/(ledger|queue|engine)|apps\/worker)\//;
    const paths = productionFiles().filter((path) => rooms.test(path));
    const banned = (name: string, isNew: boolean) =>
      ["Date.now", "Math.random"].includes(name) || (isNew && name === "Date");
    expect(calls(paths, banned)).toEqual([]);
  });

  it("reads the environment in config.ts alone", () => {
    const found = productionFiles()
      .filter((path) => !/^apps\/[^/]+\/src\/config\.ts$/.test(path))
      .filter((path) => {
        let reads = syntaxOf(path).imports.some(({ from }) => from === "process" || from === "node:process");
        walk(path, {
          MemberExpression(node) {
            reads ||= dotted(node) === "process.env";
          },
        });
        return reads;
      });
    expect(found).toEqual([]);
  });

  it("prints nothing past the logger but in the command line program", () => {
    const paths = productionFiles().filter((path) => !path.startsWith("apps/cli/"));
    expect(calls(paths, (name) => name.startsWith("console."))).toEqual([]);
  });
});

describe("texts", () => {
  it("names no path of this machine and no registry", () => {
    const banned = [process.cwd(), "registry.npmjs", "registry-1.", "deb.debian.org"].filter((word) => word.length > 1);
    const found = plainTexts()
      .filter((path) => path !== "test/house/names-and-calls.test.ts")
      .flatMap((path) => banned.filter((word) => textOf(path).includes(word)).map((word) => `${path}: ${word}`));
    expect(found).toEqual([]);
  });

  it("locks dependencies without naming where they came from", () => {
    expect(textOf("package-lock.json")).not.toMatch(/"resolved": "http/);
  });

  it("leaves nothing for later in the code", () => {
    const mark = new RegExp(
      ["TO" + "DO", "FIX" + "ME", "HA" + "CK", "X".repeat(3)].map((word) => `\\b${word}\\b`).join("|"),
    );
    expect(plainTexts().filter((path) => mark.test(textOf(path)))).toEqual([]);
  });

  it("keeps production code away from tests", () => {
    const found = productionFiles().filter((path) =>
      syntaxOf(path).imports.some(({ from }) => isTest(from) || /\.test\.js$/.test(from)),
    );
    expect(found).toEqual([]);
  });
});
