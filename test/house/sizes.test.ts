/** Sizes: a file is one room, a function fits on a screen. */

import type { ESTree } from "vite";
import { describe, expect, it } from "vitest";
import { dotted, filesWith, syntaxOf, textOf, walk } from "./source-tree.js";

const FILE_LINES_MAX = 300;
const LUA_LINES_MAX = 150;
const FUNCTION_LINES_MAX = 70;
const LINE_CHARACTERS_MAX = 120;

const lines = (path: string) => textOf(path).replace(/\n$/, "").split("\n");

interface Measured {
  readonly line: number;
  readonly length: number;
}

type FunctionNode = ESTree.Function | ESTree.ArrowFunctionExpression;

/** Functions of a TypeScript file. The body of a `describe` is a table of contents, not a function. */
function functionsOf(path: string): Measured[] {
  const { lineAt } = syntaxOf(path);
  const found: Measured[] = [];
  const exempt = new Set<number>();
  const measure = (node: FunctionNode) => {
    if (exempt.has(node.start)) return;
    const line = lineAt(node.start);
    found.push({ line, length: lineAt(node.end) - line + 1 });
  };
  walk(path, {
    CallExpression(node) {
      const callee = node.callee.type === "CallExpression" ? node.callee.callee : node.callee;
      if (!/^describe(\.|$)/.test(dotted(callee))) return;
      for (const argument of node.arguments) exempt.add(argument.start);
    },
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
  });
  return found;
}

/** Functions of C in our layout: a head at the margin, its closing brace at the margin. */
function functionsOfC(path: string): Measured[] {
  const found: Measured[] = [];
  let head = 0;
  for (const [index, line] of lines(path).entries()) {
    if (/^[A-Za-z_].*\)\s*\{?$/.test(line) || /^\{$/.test(line)) head ||= index + 1;
    if (/;\s*$/.test(line) && /^\S/.test(line)) head = 0;
    if (/^\}/.test(line) && head > 0) {
      found.push({ line: head, length: index + 2 - head });
      head = 0;
    }
  }
  return found;
}

/** `def` to the line before the next one that is indented no deeper. */
function functionsOfPython(path: string): Measured[] {
  const all = lines(path);
  return all.flatMap((line, index) => {
    const indent = line.match(/^( *)(?:async )?def /)?.[1];
    if (indent === undefined) return [];
    const after = all.slice(index + 1).findIndex((next) => next.trim() !== "" && !next.startsWith(`${indent} `));
    return [{ line: index + 1, length: after < 0 ? all.length - index : after + 1 }];
  });
}

function tooLong(paths: readonly string[], measure: (path: string) => Measured[]): string[] {
  return paths.flatMap((path) =>
    measure(path)
      .filter(({ length }) => length > FUNCTION_LINES_MAX)
      .map(({ line, length }) => `${path}:${line} is a function of ${length} lines`),
  );
}

describe("sizes", () => {
  it(`holds files to ${FILE_LINES_MAX} lines`, () => {
    const found = filesWith(".ts", ".mjs", ".js", ".c", ".h", ".py")
      .filter((path) => lines(path).length > FILE_LINES_MAX)
      .map((path) => `${path} has ${lines(path).length} lines`);
    expect(found).toEqual([]);
  });

  it(`holds functions to ${FUNCTION_LINES_MAX} lines`, () => {
    expect(tooLong(filesWith(".ts", ".mjs"), functionsOf)).toEqual([]);
    expect(tooLong(filesWith(".c"), functionsOfC)).toEqual([]);
    expect(tooLong(filesWith(".py"), functionsOfPython)).toEqual([]);
  });

  it("measures functions of C and TypeScript", () => {
    expect(functionsOf("test/house/sizes.test.ts").some(({ length }) => length > 20)).toBe(true);
    for (const path of filesWith("agent/main.c")) expect(functionsOfC(path).length).toBeGreaterThan(0);
  });

  it(`holds comments, C, Lua and Python to ${LINE_CHARACTERS_MAX} characters a line; the formatter lays out the rest`, () => {
    const isComment = (line: string) => /^\s*(\/\/|\/\*|\*)/.test(line);
    const found = filesWith(".ts", ".mjs", ".c", ".h", ".py", ".lua").flatMap((path) =>
      lines(path).flatMap((line, index) => {
        const ours = isComment(line) || !/\.m?ts$|\.mjs$/.test(path);
        return ours && line.length > LINE_CHARACTERS_MAX ? [`${path}:${index + 1}`] : [];
      }),
    );
    expect(found).toEqual([]);
  });

  it(`holds Lua to ${LUA_LINES_MAX} lines below a header`, () => {
    const found = filesWith(".lua").flatMap((path) => [
      ...(lines(path).length > LUA_LINES_MAX ? [`${path} has ${lines(path).length} lines`] : []),
      ...(/^(?:#!lua[^\n]*\n)?--/.test(textOf(path)) ? [] : [`${path} has no header`]),
    ]);
    expect(found).toEqual([]);
  });
});
