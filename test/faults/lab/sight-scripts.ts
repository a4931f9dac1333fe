/** Turns what passes a worker's Redis proxy into history: grants, writes, beats, releases, boots. */
import type { Entry, History, WriteName } from "./history.js";
import type { FaultProxy, Sighting } from "./proxy.js";
import { bulkArguments } from "./resp-frames.js";

/** EVALSHA carries hash, count of keys and root before the script's own arguments. */
const ARGUMENTS_FROM = 3;
const REPLY_ELEMENTS = 8;
const REPLY_BYTES = 256;

const WRITES: Readonly<Record<string, WriteName>> = {
  "task-activate": "activate",
  "task-append": "append",
  "task-settle": "settle",
  "task-requeue": "requeue",
};

interface SeenScript {
  readonly actor: string;
  readonly argv: readonly string[];
  readonly reply: readonly string[];
  readonly sent_ms: number;
}

function grantOf({ actor, argv, reply, sent_ms }: SeenScript): Entry | null {
  const [workspace = "", task = "", boot = "", host = ""] = argv;
  const [tag, token = "", sandbox = "", attempt = "", generation = "", fence = ""] = reply;
  if (tag !== "granted") return null;
  const name = { task: `${workspace}.${task}`, attempt: Number(attempt), generation: Number(generation) };
  return { kind: "grant", actor, boot, host, ...name, fence, token, sandbox, sent_ms };
}

function writeOf(op: WriteName, { actor, argv, reply, sent_ms }: SeenScript): Entry {
  const [workspace = "", task = "", boot = "", token = "", , fence = ""] = argv;
  return { kind: "write", op, actor, boot, task: `${workspace}.${task}`, token, fence, sent_ms, reply: reply[0] ?? "" };
}

function entryOf(script: string, seen: SeenScript): Entry | null {
  const { actor, argv, sent_ms } = seen;
  const [first = "", second = "", third = "", fourth = ""] = argv;
  const tag = seen.reply[0] ?? "";
  const op = WRITES[script];
  if (op !== undefined) return writeOf(op, seen);
  switch (script) {
    case "task-admit":
      return grantOf(seen);
    case "boot-beat":
      return { kind: "beat", actor, boot: first, sent_ms, reply: tag };
    case "boot-register":
      return tag === "registered" ? { kind: "boot", actor, boot: first, host: second } : null;
    case "boot-retire":
      return tag === "retired" ? { kind: "retired", actor, boot: first, sent_ms } : null;
    case "task-release": {
      const task = `${first}.${second}`;
      return { kind: "release", actor, boot: fourth, task, token: third, sent_ms, reply: tag };
    }
    default:
      return null;
  }
}

/** `actor` is the name of the program behind the proxy. */
export function sightScripts(proxy: FaultProxy, actor: string, history: History): void {
  proxy.observe((sighting: Sighting) => {
    const { phase, exchange, bytes, status } = sighting;
    if (phase !== "reply" || exchange === null || bytes === null || status !== "ok" || exchange.detail === null) return;
    const argv = exchange.args.slice(ARGUMENTS_FROM);
    const reply = bulkArguments(bytes, REPLY_ELEMENTS, REPLY_BYTES) ?? [];
    const entry = entryOf(exchange.detail, { actor, argv, reply, sent_ms: exchange.at_ms });
    if (entry !== null) history.add(entry);
  });
}

/** Turns what passes a worker's engine proxy into history. */
export function sightEngineCalls(proxy: FaultProxy, actor: string, history: History): void {
  proxy.observe(({ phase, exchange, status }) => {
    if (phase !== "reply" || exchange === null) return;
    const { name: method, detail, at_ms: sent_ms } = exchange;
    if (!detail?.startsWith("/containers/") || (method === "GET" && !detail.endsWith("/json"))) return;
    if (detail === "/containers/json") return;
    history.add({ kind: "engine_call", actor, method, path: detail, sent_ms, status: status ?? "" });
  });
}
