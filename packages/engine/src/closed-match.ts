/** Compares what is with what was asked for, closed: whatever was not asked for must be neutral. */

export type Check = (value: unknown) => boolean;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for what an engine shows of a setting nobody made. */
export function isNeutral(value: unknown): boolean {
  if (value === null || value === undefined || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.every(isNeutral);
  // A key alone can say something: image volumes are a record of empty objects.
  return isRecord(value) && Object.keys(value).length === 0;
}

/**
 * Names of the fields of `actual` that are neither as in `expected`, nor neutral, nor passed by the check of their
 * path in `excepted`. Lists keep their order and length.
 */
export function deviationsOf(
  expected: unknown,
  actual: unknown,
  path: string,
  excepted: Readonly<Record<string, Check>>,
): string[] {
  const exception = excepted[path];
  if (exception !== undefined) return exception(actual) ? [] : [path];
  if (expected === undefined) return isNeutral(actual) ? [] : [path];
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return [path];
    return expected.flatMap((item, index) => deviationsOf(item, actual[index], `${path}.${index}`, excepted));
  }
  if (isRecord(expected)) {
    if (!isRecord(actual)) return [path];
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) => deviationsOf(expected[key], actual[key], `${path}.${key}`, excepted));
  }
  return Object.is(expected, actual) ? [] : [path];
}
