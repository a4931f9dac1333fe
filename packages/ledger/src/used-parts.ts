/**
 * A script runs its whole text at each call, so a definition that nobody uses is paid for each time: building all
 * that the includes define took longer than what a script does with it.
 */

/** A statement at the margin, with the lines that belong to it. */
interface Statement {
  readonly text: string;
  /** What it defines and does nothing else: such a statement may be left out. */
  readonly defines: string | null;
}

const CONTINUES = /^(?:\s|end\b|else\b|elseif\b|until\b|[)}\]])/;
const COMMENT = /^\s*--/;
const DEFINITION = /^(?:local function (\w+)\(|local (\w+) = |(key\.\w+) = )/;
/** Builds a value and does nothing else. Any other call may act, whether or not its answer is used. */
const BUILDS = /^[\w. ]+ = (?:of_\w+|once|table\.concat)\(/;
const CALL = /\w\s*\(/;

function statementOf(text: string): Statement {
  const [, ...names] = DEFINITION.exec(text) ?? [];
  const name = names.find((found) => found !== undefined) ?? null;
  const acts = !text.startsWith("local function") && !BUILDS.test(text) && CALL.test(text);
  return { text, defines: acts ? null : name };
}

function statementsOf(script: string): Statement[] {
  const texts: string[] = [];
  for (const line of script.split("\n")) {
    if (line === "" || COMMENT.test(line)) continue;
    if (CONTINUES.test(line) && texts.length > 0) texts.push(`${texts.pop()}\n${line}`);
    else texts.push(line);
  }
  return texts.map(statementOf);
}

const WORD = /[A-Za-z_]\w*(?:\.\w+)?/g;

/** Every word, and of `key.task` both that and `key`. */
function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).flatMap((word) => [word, word.split(".")[0] ?? word]);
}

/** The script without its comments and without definitions that nothing in it uses. */
export function usedParts(script: string): string {
  const statements = statementsOf(script);
  const used = new Set(statements.filter(({ defines }) => defines === null).flatMap(({ text }) => wordsOf(text)));
  const kept = new Set(statements.filter(({ defines }) => defines === null));
  for (let grown = true; grown; ) {
    grown = false;
    for (const statement of statements) {
      if (kept.has(statement) || statement.defines === null || !used.has(statement.defines)) continue;
      kept.add(statement);
      for (const word of wordsOf(statement.text)) used.add(word);
      grown = true;
    }
  }
  return statements
    .filter((statement) => kept.has(statement))
    .map(({ text }) => text)
    .join("\n");
}
