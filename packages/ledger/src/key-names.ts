/**
 * Names of keys, put where a script uses them. A function for each name would be built at every call of a script, and
 * a call of it costs more than the name.
 */

/** `--- @key boot_tokens = :boot:%s:tokens`: what follows the root, with a place for each id. */
const DEFINED = /^--- @key (\w+) = (\S+)\n?/gm;
const USED = /\bkey\.(\w+)/;
const COMMENT = /^\s*--/;
const LITERAL = /^'([^']*)'$/;

/** The arguments between the parenthesis at `open` and its own end, and the place behind that. */
function argumentsAt(line: string, open: number): { readonly args: string[]; readonly end: number } {
  const args: string[] = [];
  let [depth, quoted, from] = [0, false, open + 1];
  for (let at = open; at < line.length; at += 1) {
    const char = line[at];
    if (char === "'") quoted = !quoted;
    if (quoted) continue;
    if (char === "(") depth += 1;
    if (char === ")") depth -= 1;
    if (depth > 1 || (depth === 1 && char !== ",")) continue;
    args.push(line.slice(from, at).trim());
    from = at + 1;
    if (depth === 0) return { args: args.slice(at === open ? 1 : 0), end: from };
  }
  throw new Error(`a key's name must stand on one line: ${line}`);
}

/** The Lua expression of a name. An id that the script itself writes down needs no check. */
function expressionOf(form: string, args: readonly string[]): string {
  const between = form.split("%s");
  if (between.length !== args.length + 1) throw new Error(`${form} wants ${between.length - 1} ids`);
  let [parts, text] = [["root"], between[0] ?? ""];
  for (const [n, arg] of args.entries()) {
    const literal = LITERAL.exec(arg)?.[1];
    if (literal === undefined) {
      parts = [...parts, `'${text}'`, `id_part(${arg})`];
      text = "";
    } else {
      text += literal;
    }
    text += between[n + 1] ?? "";
  }
  return `(${[...parts, ...(text === "" ? [] : [`'${text}'`])].join(" .. ")})`;
}

function namedIn(line: string, forms: ReadonlyMap<string, string>): string {
  const found = USED.exec(line);
  if (!found || COMMENT.test(line)) return line;
  const [whole, name = ""] = found;
  const form = forms.get(name);
  if (form === undefined) throw new Error(`no key ${name}`);
  const behind = found.index + whole.length;
  const { args, end } = line[behind] === "(" ? argumentsAt(line, behind) : { args: [], end: behind };
  const inner = args.map((arg) => namedIn(arg, forms));
  return line.slice(0, found.index) + expressionOf(form, inner) + namedIn(line.slice(end), forms);
}

export function withKeyNames(script: string): string {
  const forms = new Map([...script.matchAll(DEFINED)].map(([, name = "", form = ""]) => [name, form]));
  return script
    .replaceAll(DEFINED, "")
    .split("\n")
    .map((line) => namedIn(line, forms))
    .join("\n");
}
