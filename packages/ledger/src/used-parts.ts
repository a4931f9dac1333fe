/**
 * A script runs its whole text at each call, so a definition that nobody uses is paid for each time: building all
 * that the includes define took longer than what a script does with it. Unused ones are left out; what only functions
 * marked `--- @rare` use is built within these, when they are called.
 */

/** A statement at the margin, with the lines that belong to it. */
interface Statement {
  readonly text: string;
  /** What it defines and does nothing else: such a statement may be left out. */
  readonly defines: string | null;
  readonly rare: boolean;
  readonly words: readonly string[];
}

const CONTINUES = /^(?:\s|end\b|else\b|elseif\b|until\b|[)}\]])/;
const RARE = /^--- @rare$/;
const COMMENT = /^\s*--/;
const DEFINITION = /^(?:local function (\w+)\(|local (\w+) = )/;
/** Builds a value and does nothing else. Any other call may act, whether or not its answer is used. */
const BUILDS = /^[\w. ]+ = (?:once|table\.concat)\(/;
const CALL = /\w\s*\(/;
/** What may be built anew wherever it is used: a table may be one that its users share. */
const COPIES = /^local (?:function |[A-Z_]+ = (?:'[^']*'|[\d.]+)$)/;

const WORD = /[A-Za-z_]\w*(?:\.\w+)?/g;

/** Every word, and of `task.status` both that and `task`. */
function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).flatMap((word) => [word, word.split(".")[0] ?? word]);
}

function statementOf(text: string, rare: boolean): Statement {
  const [, ...names] = DEFINITION.exec(text) ?? [];
  const name = names.find((found) => found !== undefined) ?? null;
  const acts = !text.startsWith("local function") && !BUILDS.test(text) && CALL.test(text);
  return { text, defines: acts ? null : name, rare, words: wordsOf(text) };
}

function statementsOf(script: string): Statement[] {
  const texts: { text: string; rare: boolean }[] = [];
  let rare = false;
  for (const line of script.split("\n")) {
    rare ||= RARE.test(line);
    if (line === "" || COMMENT.test(line)) continue;
    const last = texts.at(-1);
    if (CONTINUES.test(line) && last) last.text += `\n${line}`;
    else {
      texts.push({ text: line, rare });
      rare = false;
    }
  }
  return texts.map(({ text, rare }) => statementOf(text, rare));
}

/** Adds to `kept` all that its statements use, and what that uses, but not what only rare functions of it do. */
function grow(kept: Set<Statement>, statements: readonly Statement[], opened: ReadonlySet<Statement>): void {
  const isClosed = (statement: Statement): boolean => statement.rare && !opened.has(statement);
  const used = new Set([...kept].flatMap((statement) => (isClosed(statement) ? [] : statement.words)));
  for (let grown = true; grown; ) {
    grown = false;
    for (const statement of statements) {
      if (kept.has(statement) || statement.defines === null || !used.has(statement.defines)) continue;
      kept.add(statement);
      if (!isClosed(statement)) for (const word of statement.words) used.add(word);
      grown = true;
    }
  }
}

/** What a rare function uses and the script else does not, in the order of the script. */
function usedWithin(rare: Statement, kept: ReadonlySet<Statement>, statements: readonly Statement[]): Statement[] {
  const within = new Set([rare]);
  // One that stands outside has its own inside of it.
  grow(within, statements, new Set(statements.filter((other) => other === rare || !kept.has(other))));
  return statements.filter((statement) => within.has(statement) && !kept.has(statement));
}

/** The function with what it alone uses built inside. */
function withInner(rare: Statement, inner: readonly Statement[]): string {
  const [head = "", ...rest] = rare.text.split("\n");
  return [head, ...inner.map(({ text }) => text), ...rest].join("\n");
}

export interface Part {
  readonly text: string;
  readonly rare: boolean;
}

/** The script without its comments and without definitions that nothing in it uses. */
export function usedParts(script: string): Part[] {
  const statements = statementsOf(script);
  const kept = new Set(statements.filter(({ defines }) => defines === null));
  grow(kept, statements, new Set());
  // A table stays outside of the function that uses it, since others may share it, and with it what it uses.
  for (const rare of statements.filter((statement) => kept.has(statement) && statement.rare)) {
    for (const inner of usedWithin(rare, kept, statements)) if (!COPIES.test(inner.text)) kept.add(inner);
  }
  grow(kept, statements, new Set());
  return statements
    .filter((statement) => kept.has(statement))
    .map((part) => (part.rare ? { ...part, text: withInner(part, usedWithin(part, kept, statements)) } : part));
}
