import { CHECK_STATES, type Check } from "@holdfast/engine";
import { table } from "../output/table.js";

const HEADINGS = ["CHECK", "STATE", "SEEN"];

/** One JSON object a check, or a table for people: under each check that needs it, the remedy; at last the counts. */
export function report(checks: readonly Check[], json: boolean | undefined): string[] {
  if (json === true) return checks.map((check) => JSON.stringify(check));
  const rows = checks.flatMap(({ name, state, seen, remedy }) => [
    [name, state, seen],
    ...(remedy === null ? [] : [["", "", `-> ${remedy}`]]),
  ]);
  const counts = CHECK_STATES.map((state) => `${checks.filter((check) => check.state === state).length} ${state}`);
  return [...table(HEADINGS, rows), "", counts.join(", ")];
}
