import { plain } from "./console.js";

/** Columns padded with spaces, a heading line first. Empty where there are no rows. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const lines = [headings, ...rows].map((row) => row.map(plain));
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => row[column]?.length ?? 0)));
  return lines.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Lines of a list: one JSON object each, or a table for people. */
export function listing<Item>(
  items: readonly Item[],
  json: boolean | undefined,
  headings: readonly string[],
  rowOf: (item: Item) => readonly string[],
): string[] {
  return json === true ? items.map((item) => JSON.stringify(item)) : table(headings, items.map(rowOf));
}

/** One fact a line, names in a column. Facts whose value is null are left out. */
export function facts(pairs: readonly (readonly [string, string | null])[]): string[] {
  const shown = pairs.flatMap(([name, value]) => (value === null ? [] : [[name, plain(value)] as const]));
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

/** A span for people: `850 ms`, `12 s`, `5 min`, `3 h`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
