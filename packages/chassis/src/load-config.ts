/** A schema as this package needs it: whatever parses and names its problems. */
export interface ConfigSchema<T> {
  safeParse(
    input: unknown,
  ):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly ConfigIssue[] } };
}

export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Every variable that is wrong and why; the value itself is never shown, since it may be a secret. */
export class ConfigError extends Error {
  readonly problems: readonly { readonly variable: string; readonly message: string }[];

  constructor(problems: readonly { readonly variable: string; readonly message: string }[]) {
    super(`bad configuration: ${problems.map(({ variable, message }) => `${variable}: ${message}`).join("; ")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Reads the variables a schema names out of `env`. An empty variable counts as unset. Throws ConfigError. */
export function loadConfig<T>(schema: ConfigSchema<T>, env: Readonly<Record<string, string | undefined>>): Readonly<T> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map(({ path, message }) => ({
    variable: path.length === 0 ? "configuration" : path.map(String).join("."),
    message,
  }));
  throw new ConfigError(problems);
}

/** `redis://user:secret@host` without its secret. A scheme is looked for in bounded steps: the time stays linear. */
export function maskUrl(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]{0,31}:\/\/)([^/?#\s@:]*):([^/?#\s]*)@/gi, "$1$2:***@");
}

/** The effective values as they may be shown: secrets of `keys` masked, passwords inside URLs masked everywhere. */
export function maskSecrets(
  config: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): Record<string, unknown> {
  const shown = Object.entries(config).map(([key, value]): [string, unknown] => {
    if (keys.includes(key) && value !== undefined && value !== null && value !== "") return [key, "***"];
    return [key, typeof value === "string" ? maskUrl(value) : value];
  });
  return Object.fromEntries(shown);
}
