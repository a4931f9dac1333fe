/**
 * What is looked at before the schema is: how many entries there are. A schema looks at each of them and keeps a record
 * of all that is wrong, so that a few megabytes of nonsense would cost gigabytes.
 */
import { BOUNDS } from "./bounds.js";

export interface EntriesProblem {
  readonly field: string;
  readonly message: string;
}

interface EntriesRule {
  /** Empty for the request itself. */
  readonly field: string;
  readonly entries_max: number;
  readonly message: string;
}

/** A variable takes three bytes at least. */
const ENV_ENTRIES_MAX = Math.floor(BOUNDS.env_total_bytes_max / 3);

const RULES: readonly EntriesRule[] = [
  { field: "", entries_max: 64, message: "has too many fields" },
  {
    field: "env",
    entries_max: ENV_ENTRIES_MAX,
    message: `all values together must be ${BOUNDS.env_total_bytes_max} bytes at most`,
  },
  { field: "labels", entries_max: BOUNDS.labels_max, message: `${BOUNDS.labels_max} labels at most` },
];

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first field that has too many entries, or one by a name that no record of ours can hold; null where none has. */
export function entriesProblem(input: unknown): EntriesProblem | null {
  if (!isRecord(input)) return null;
  for (const { field, entries_max, message } of RULES) {
    const record = field === "" ? input : input[field];
    if (!isRecord(record)) continue;
    if (Object.keys(record).length > entries_max) return { field: field === "" ? "request" : field, message };
    if (field !== "" && Object.hasOwn(record, "__proto__")) {
      return { field: `${field}.__proto__`, message: "is not a name that can be used" };
    }
  }
  return null;
}
