import { type DestinationStream, pino } from "pino";
import { maskUrl } from "./load-config.js";

/** Fields of a log line. Fixed names: workspace_id, task_id, sandbox_id, boot_id, host_id, attempt, error_code. */
export type LogFields = Readonly<Record<string, unknown>>;

/** JSON lines: an event name and fields, no prose with values inside. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A logger whose every line carries these fields too. */
  child(fields: LogFields): Logger;
}

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  readonly name: string;
  readonly level?: LogLevel;
  /** Where lines go; standard error by default, so that a program's output stays its own. */
  readonly destination?: DestinationStream;
}

/** A string of unknown origin never fills a log line. */
const STRING_CHARACTERS_MAX = 1_024;
/** Searched for passwords, which must not show where they are cut; what lies beyond is never shown. */
const STRING_SEARCHED_MAX = 16_384;
const DEPTH_MAX = 4;
const SECRET_FIELD = /password|secret|authorization|cookie|credential|owner_token|api_key|^env$|^stdin$|^content$/i;

function clean(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    const masked = maskUrl(value.slice(0, STRING_SEARCHED_MAX));
    if (masked.length <= STRING_CHARACTERS_MAX) return masked;
    return `${masked.slice(0, STRING_CHARACTERS_MAX)}… (${value.length} characters)`;
  }
  if (value instanceof Error) {
    const code = "code" in value && typeof value.code === "string" ? { code: value.code } : {};
    return { name: value.name, message: clean(value.message, depth), ...code, stack: clean(value.stack ?? "", depth) };
  }
  if (value === null || typeof value !== "object") return value;
  if (depth >= DEPTH_MAX) return "[deep]";
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => clean(item, depth + 1));
  return cleanFields(value, depth + 1);
}

function cleanFields(fields: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(fields).map(([key, value]): [string, unknown] => [
    key,
    SECRET_FIELD.test(key) && value !== null && value !== undefined ? "[secret]" : clean(value, depth),
  ]);
  return Object.fromEntries(entries);
}

type Level = Exclude<LogLevel, "silent">;

interface Sink extends Readonly<Record<Level, (fields: object) => void>> {
  isLevelEnabled(level: Level): boolean;
}

/** `bound` is cleaned with the fields of each line that is written: most children never write one. */
function wrap(sink: Sink, bound: LogFields): Logger {
  const write =
    (level: Level) =>
    (event: string, fields: LogFields = {}): void => {
      if (sink.isLevelEnabled(level)) sink[level]({ ...cleanFields(bound), ...cleanFields(fields), event });
    };
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: (fields) => wrap(sink, { ...bound, ...fields }),
  };
}

/** One logger a program; nothing is kept outside it. */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level ?? "info",
    base: { program: options.name },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (level: string) => ({ level }) },
  };
  return wrap(pino(settings, options.destination ?? pino.destination({ dest: 2, sync: true })), {});
}

/** For programs and tests that want no log. */
export function silentLogger(): Logger {
  const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
  return quiet;
}
