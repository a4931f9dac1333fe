/** From rule to code to proof with one search: numbers that are cited are listed, and numbers listed are proved. */
import { describe, expect, it } from "vitest";
import { allFiles, filesWith, isTest, syntaxOf, tableUnder, testTitles, textOf } from "./source-tree.js";

const PAGE = "docs/invariants.md";
const NUMBER = /(?<![A-Za-z0-9_-])([CLTGEVOWQ][1-9])(?![A-Za-z0-9_-])/g;

interface Row {
  readonly number: string;
  readonly code: string;
  readonly proof: string;
}

const rows = (): Row[] =>
  tableUnder(PAGE, "The list").map(([number = "", , code = "", proof = ""]) => ({ number, code, proof }));
const numbersIn = (text: string) => [...text.matchAll(NUMBER)].map((match) => match[1] ?? "");
const pathsIn = (cell: string) => [...cell.matchAll(/`([^`]+\/[^`]+)`/g)].map((match) => match[1] ?? "");

function citations(path: string): string[] {
  if (path.endsWith(".ts")) {
    const comments = syntaxOf(path).comments.map((comment) => comment.value);
    return numbersIn([...comments, ...(isTest(path) ? testTitles(path) : [])].join("\n"));
  }
  const comments = textOf(path).match(path.endsWith(".lua") ? /--[^\n]*/g : /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g);
  return numbersIn((comments ?? []).join("\n"));
}

describe("docs/invariants.md", () => {
  it("lists every number that code or tests cite", () => {
    const known = new Set(rows().map(({ number }) => number));
    const sources = filesWith(".ts", ".lua", ".c", ".h").filter((path) => !path.startsWith("test/house/"));
    const found = sources.flatMap((path) =>
      [...new Set(citations(path))].filter((number) => !known.has(number)).map((number) => `${path} cites ${number}`),
    );
    expect(found).toEqual([]);
  });

  it("lists each number once, with the whole set of the design", () => {
    const expected = ["C1", "C2", "L1", "L2", "L3", "L4", "T1", "T2", "T3", "G1", "G2", "E1", "E2", "E3", "E4"];
    expect(rows().map(({ number }) => number)).toEqual([...expected, "V1", "O1", "W1", "Q1"]);
  });

  it("has a test whose title cites each number that is not marked next", () => {
    const proved = new Set(
      filesWith(".test.ts")
        .filter((path) => !path.startsWith("test/house/"))
        .flatMap((path) => testTitles(path).flatMap(numbersIn)),
    );
    const unproved = rows().filter(({ number, proof }) => !proof.startsWith("next") && !proved.has(number));
    expect(unproved.map(({ number }) => number)).toEqual([]);
  });

  it("marks nothing next that has a proof already", () => {
    const proofs = filesWith(".test.ts").filter((path) => !path.startsWith("test/house/"));
    const stale = rows()
      .filter(({ proof }) => proof === "next")
      .filter(({ number }) => proofs.some((path) => testTitles(path).flatMap(numbersIn).includes(number)));
    expect(stale.map(({ number }) => number)).toEqual([]);
  });

  it("names code and tests that are there, and tests that cite the number", () => {
    const files = new Set(allFiles());
    const found = rows().flatMap(({ number, code, proof }) => [
      ...pathsIn(`${code} ${proof}`).filter((path) => !files.has(path)),
      ...pathsIn(proof).filter((path) => files.has(path) && !testTitles(path).flatMap(numbersIn).includes(number)),
    ]);
    expect(found).toEqual([]);
  });
});
