/** The project as the house laws read it: files by git, syntax by the parser the test runner brings. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type ESTree, parseSync, Visitor, type VisitorObject } from "vite";

export const ROOT = join(import.meta.dirname, "..", "..");

let listed: readonly string[] | null = null;

/** As git lists them, or without git (an exported tree) by the names that .gitignore leaves out. */
function listFiles(): string[] {
  const git = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], { cwd: ROOT, encoding: "utf8" });
  if (git.status === 0) return git.stdout.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
  const ignored = readFileSync(join(ROOT, ".gitignore"), "utf8")
    .split("\n")
    .map((line) => line.replace(/\/$/, ""));
  const skipped = new Set([...ignored, ".git"]);
  const inside = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => !skipped.has(entry.name) && !entry.name.endsWith(".tsbuildinfo"))
      .flatMap((entry) => (entry.isDirectory() ? inside(join(folder, entry.name)) : [join(folder, entry.name)]));
  return inside("");
}

/** Every file that is tracked, or would be; paths from the root. */
export function allFiles(): readonly string[] {
  listed ??= listFiles().sort();
  return listed;
}

export function filesWith(...extensions: readonly string[]): string[] {
  return allFiles().filter((path) => extensions.some((extension) => path.endsWith(extension)));
}

const texts = new Map<string, string>();

export function textOf(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(join(ROOT, path), "utf8");
  texts.set(path, text);
  return text;
}

export const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.startsWith("test/");

/** TypeScript of packages and apps, without tests. */
export function productionFiles(): string[] {
  return filesWith(".ts").filter((path) => /^(packages|apps)\//.test(path) && !isTest(path));
}

/** `packages/ledger` of `packages/ledger/src/keys.ts`; null outside of packages and apps. */
export function roomOf(path: string): string | null {
  return path.match(/^(?:packages|apps)\/[^/]+/)?.[0] ?? null;
}

export interface Import {
  readonly from: string;
  readonly line: number;
  /** Loaded with the file: neither a type alone nor asked for later. */
  readonly eager: boolean;
}

export interface Parsed {
  readonly program: ESTree.Program;
  readonly comments: readonly { readonly value: string; readonly start: number }[];
  readonly imports: readonly Import[];
  lineAt(offset: number): number;
}

const parsed = new Map<string, Parsed>();

function parse(path: string): Parsed {
  const text = textOf(path);
  const result = parseSync(path, text);
  if (result.errors.length > 0) throw new Error(`${path} cannot be parsed: ${result.errors[0]?.message}`);
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const { staticImports, staticExports, dynamicImports } = result.module;
  const named = [
    ...staticImports.map(({ moduleRequest, start, entries }) => ({
      from: moduleRequest.value,
      start,
      eager: entries.length === 0 || entries.some(({ isType }) => !isType),
    })),
    ...staticExports.flatMap(({ entries, start }) =>
      entries.flatMap(({ moduleRequest, isType }) =>
        moduleRequest ? [{ from: moduleRequest.value, start, eager: !isType }] : [],
      ),
    ),
    ...dynamicImports.map(({ moduleRequest, start }) => ({
      from: text.slice(moduleRequest.start, moduleRequest.end).replace(/^["'`]|["'`]$/g, ""),
      start,
      eager: false,
    })),
  ];
  const imports = named.map(({ from, start, eager }) => ({ from, line: lineAt(start), eager }));
  return { program: result.program, comments: result.comments, imports, lineAt };
}

export function syntaxOf(path: string): Parsed {
  const known = parsed.get(path);
  if (known !== undefined) return known;
  const fresh = parse(path);
  parsed.set(path, fresh);
  return fresh;
}

/** Walks a file's syntax. */
export function walk(path: string, visitor: VisitorObject): void {
  new Visitor(visitor).visit(syntaxOf(path).program);
}

/** Path from the root of what a relative import names, as TypeScript. */
export function resolveImport(path: string, from: string): string {
  return relative(ROOT, join(ROOT, dirname(path), from)).replace(/\.js$/, ".ts");
}

/** `a.b.c` of a callee or member, where it is plain names. */
export function dotted(node: ESTree.Node | null | undefined): string {
  if (node?.type === "Identifier") return node.name;
  if (node?.type === "MemberExpression" && !node.computed && node.property.type === "Identifier") {
    return `${dotted(node.object)}.${node.property.name}`;
  }
  return "";
}

/** Titles of `describe`, `it` and `test` of one file; placeholders of templates become `*`. */
export function testTitles(path: string): string[] {
  const titles: string[] = [];
  walk(path, {
    CallExpression(node) {
      const callee = node.callee.type === "CallExpression" ? node.callee.callee : node.callee;
      if (!/^(describe|it|test)(\.|$)/.test(dotted(callee))) return;
      const [title] = node.arguments;
      if (title?.type === "Literal" && typeof title.value === "string") titles.push(title.value);
      if (title?.type === "TemplateLiteral") titles.push(title.quasis.map((quasi) => quasi.value.raw).join("*"));
    },
  });
  return titles;
}

/** Rows of the first table beneath a heading of a page, without the head: cells trimmed. */
export function tableUnder(path: string, heading: string): string[][] {
  const section = textOf(path)
    .split(/^#+ /m)
    .find((part) => part.split("\n")[0]?.trim() === heading);
  if (section === undefined) throw new Error(`${path} has no heading "${heading}"`);
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .slice(1, line.lastIndexOf("|"))
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
  return rows.slice(2);
}
