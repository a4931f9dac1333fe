/** Reads fields of the engine's answers, whose shape nobody vouches for: each read gives the type asked for or null. */
export interface JsonReader {
  readonly raw: unknown;
  text(key: string): string | null;
  number(key: string): number | null;
  flag(key: string): boolean | null;
  at(key: string): JsonReader;
  /** Empty where there is no list. */
  list(key: string): readonly JsonReader[];
  /** Entries whose value is text; empty where there is no object. */
  texts(key: string): Readonly<Record<string, string>>;
  keys(): readonly string[];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

export function reader(raw: unknown): JsonReader {
  const object = isObject(raw) ? raw : {};
  const field = (key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);
  return {
    raw,
    text(key) {
      const value = field(key);
      return typeof value === "string" ? value : null;
    },
    number(key) {
      const value = field(key);
      return typeof value === "number" && Number.isFinite(value) ? value : null;
    },
    flag(key) {
      const value = field(key);
      return typeof value === "boolean" ? value : null;
    },
    at: (key) => reader(field(key)),
    list(key) {
      const value = field(key);
      return Array.isArray(value) ? value.map(reader) : [];
    },
    texts(key) {
      const value = field(key);
      if (!isObject(value)) return {};
      return Object.fromEntries(
        Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
      );
    },
    keys: () => Object.keys(object),
  };
}
