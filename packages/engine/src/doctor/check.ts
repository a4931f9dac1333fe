/** One thing that was looked at: what was seen, and what to do where it is not as it must be. */
export const CHECK_STATES = ["ok", "failed", "skipped", "warning"] as const;
export type CheckState = (typeof CHECK_STATES)[number];

export interface Check {
  /** Letters and `_`; the same name means the same check everywhere. */
  readonly name: string;
  readonly state: CheckState;
  readonly seen: string;
  /** Null where nothing is to be done. */
  readonly remedy: string | null;
}

export const passed = (name: string, seen: string): Check => ({ name, state: "ok", seen, remedy: null });
export const skipped = (name: string, why: string): Check => ({ name, state: "skipped", seen: why, remedy: null });
export const failing = (name: string, seen: string, remedy: string): Check => ({
  ...{ name, state: "failed", seen, remedy },
});
export const warning = (name: string, seen: string, remedy: string): Check => ({
  ...{ name, state: "warning", seen, remedy },
});

/** Names of the checks that failed. */
export function failedNames(checks: readonly Check[]): string[] {
  return checks.filter(({ state }) => state === "failed").map(({ name }) => name);
}
