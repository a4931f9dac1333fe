/** How tests are written: none is switched off, none waits for time to pass. */
import type { ESTree } from "vite";
import { describe, expect, it } from "vitest";
import { dotted, filesWith, isTest, syntaxOf, walk } from "./source-tree.js";

/** The one place where a look is repeated after a while, with a bound; and the proxy, whose work it is to be slow. */
const MAY_DELAY = /^test\/support\/wait-for\.ts$|^test\/faults\/lab\/proxy-[a-z-]+\.ts$/;

const tests = filesWith(".ts").filter(isTest);

function found(paths: readonly string[], judge: (path: string, note: (node: ESTree.Node) => void) => void): string[] {
  return paths.flatMap((path) => {
    const lines: string[] = [];
    judge(path, (node) => lines.push(`${path}:${syntaxOf(path).lineAt(node.start)}`));
    return lines;
  });
}

/** `new Promise((resolve) => setTimeout(resolve, n))`: nothing but time can end it. */
function isSleep(node: ESTree.NewExpression): boolean {
  const [executor] = node.arguments;
  if (dotted(node.callee) !== "Promise" || executor?.type !== "ArrowFunctionExpression") return false;
  const [resolve] = executor.params;
  const { body } = executor;
  const only = body.type === "BlockStatement" ? body.body : [body];
  const [first] = only;
  const call = first?.type === "ExpressionStatement" ? first.expression : first;
  if (only.length !== 1 || call?.type !== "CallExpression" || dotted(call.callee) !== "setTimeout") return false;
  return resolve?.type === "Identifier" && dotted(call.arguments[0] as ESTree.Node) === resolve.name;
}

describe("tests", () => {
  it("are never switched off or run alone", () => {
    const off = found(tests, (path, note) => {
      walk(path, {
        MemberExpression(node) {
          if (/^(it|test|describe)\.(.*\.)?(only|skip|todo|skipIf|runIf|fails)$/.test(dotted(node))) note(node);
        },
      });
    });
    expect(off).toEqual([]);
  });

  it("wait for a condition with a bound, never for time", () => {
    const sleeps = found(
      tests.filter((path) => !MAY_DELAY.test(path)),
      (path, note) => {
        walk(path, {
          ImportDeclaration(node) {
            if (/^(node:)?timers\/promises$/.test(node.source.value)) note(node);
          },
          NewExpression(node) {
            if (isSleep(node)) note(node);
          },
        });
      },
    );
    expect(sleeps).toEqual([]);
  });

  it("stand where a project of the runner finds them", () => {
    const place = /^(packages|apps)\/[^/]+\/src\/.*\.test\.ts$|^test\/(house|integration|faults|e2e)\/.*\.test\.ts$/;
    expect(filesWith(".test.ts").filter((path) => !place.test(path))).toEqual([]);
  });
});
