/**
 * Which of a task's usual fields a script reads at once: those that its text names, outside of what is rare. Each field
 * costs Redis a search in the record, and the script a place in a table that must not grow while it is filled.
 */
import type { Part } from "./used-parts.js";

const USUAL = /^local USUAL = \{([^}]*)\}/m;
const QUOTED = /'(\w+)'/g;
/** Tells whether there is a record, so it is always read. */
const FIRST = "status";

function fieldsOf(script: string, texts: readonly string[]): readonly string[] {
  const names = [...(USUAL.exec(script)?.[1] ?? "").matchAll(QUOTED)].map(([, name = ""]) => name);
  const rest = texts.filter((text) => !USUAL.test(text)).join("\n");
  return names.filter((name) => name === FIRST || new RegExp(`[.']${name}\\b`).test(rest));
}

/**
 * The parts of a script as one, with the fields written into load_task: their names, and what was found of each, false
 * where there is none.
 */
export function withUsualFields(script: string, parts: readonly Part[]): string {
  const fields = fieldsOf(
    script,
    parts.filter(({ rare }) => !rare).map(({ text }) => text),
  );
  const names = fields.map((field) => `'${field}'`).join(", ");
  const found = fields.map((field, at) => `${field} = found[${at + 1}] ~= '' and found[${at + 1}]`).join(", ");
  return parts.map(({ text }) => text.replace("USUAL_NAMES", names).replace("USUAL_FOUND", found)).join("\n");
}
