import { randomBytes } from "node:crypto";
import type { DataFolder } from "./data-folder.js";

/** What a client needs; kept in the configuration file alone, which is the one truth about the private server. */
export interface RedisAddress {
  readonly port: number;
  readonly password: string;
}

export const drawPassword = (): string => randomBytes(32).toString("hex");

export function urlOf(address: RedisAddress): string {
  return `redis://:${address.password}@127.0.0.1:${address.port}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Loopback only, a password, every write on disk before it is acknowledged, nothing ever evicted. */
export function renderRedisConfig(folder: DataFolder, address: RedisAddress): string {
  return [
    "bind 127.0.0.1",
    `port ${address.port}`,
    "protected-mode yes",
    `requirepass ${address.password}`,
    "daemonize no",
    `dir ${quoted(folder.redis_directory)}`,
    `logfile ${quoted(folder.redis_log_file)}`,
    "appendonly yes",
    "appendfsync always",
    'save ""',
    "maxmemory-policy noeviction",
    "",
  ].join("\n");
}

/** Null where the text is not one of ours. */
export function parseRedisConfig(text: string): RedisAddress | null {
  const port = /^port (\d{1,5})$/m.exec(text)?.[1];
  const password = /^requirepass ([0-9a-f]{64})$/m.exec(text)?.[1];
  return port === undefined || password === undefined ? null : { port: Number(port), password };
}
