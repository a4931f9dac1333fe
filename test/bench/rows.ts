/** One row of the bench table: ours beside the baseline of the same run, as a ratio against a goal. */

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export interface Row {
  /** Number in the design's table, such as P2. */
  readonly id: string;
  readonly what: string;
  readonly unit: "ms" | "MB/s" | "tasks/s" | "MB" | "%";
  readonly ours: Percentiles;
  /** Null where there is none to stand beside. */
  readonly baseline: Percentiles | null;
  /** ours / baseline of the percentile the goal speaks of. */
  readonly ratio: number;
  readonly goal: string;
  readonly met: boolean;
  /** What was measured and what was not, in one sentence. */
  readonly note: string;
}

export function percentiles(samples: readonly number[]): Percentiles {
  const sorted = [...samples].sort((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

const shown = ({ p50, p90, p99 }: Percentiles) => [p50, p90, p99].map((value) => value.toFixed(1)).join(" / ");

/** The table a person reads. */
export function renderRows(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) => [
    `${row.id}  ${row.what}`,
    `    ours      ${shown(row.ours)} ${row.unit} (p50 / p90 / p99)`,
    ...(row.baseline === null ? [] : [`    baseline  ${shown(row.baseline)} ${row.unit}`]),
    `    ratio     ${row.ratio.toFixed(2)}   goal ${row.goal}   ${row.met ? "met" : "NOT met"}`,
    `    ${row.note}`,
  ]);
  return lines.join("\n");
}
