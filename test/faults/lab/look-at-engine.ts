/** Looks at an engine past our own client: every container in every state, and the engine's own events. */
import { type ClientRequest, request } from "node:http";
import { engineCall } from "../../support/engine-call.js";
import type { History, SeenContainer } from "./history.js";
import { monotonicMs } from "./proxy-rules.js";

const LOOK_DEADLINE_MS = 1_500;
const AGAIN_MS = 200;

interface ContainerRow {
  readonly Id: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>> | null;
  readonly Created: number;
}

interface EngineEvent {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

const label = (labels: Readonly<Record<string, string>> | null, name: string) => labels?.[`holdfast.${name}`] ?? "";

function containerOf(row: ContainerRow): SeenContainer {
  return {
    id: row.Id,
    sandbox: label(row.Labels, "sandbox"),
    boot: label(row.Labels, "boot"),
    purpose: label(row.Labels, "purpose"),
    state: row.State,
    age_s: Date.now() / 1000 - row.Created,
    lifetime_s: Number(label(row.Labels, "lifetime_seconds")),
  };
}

export interface EngineLook {
  /** Adds one look to the history. False where the engine does not answer. */
  look(): Promise<boolean>;
  close(): void;
}

/** `socket` is the engine's own: what the lab sees is never what a proxy makes of it. */
export function lookAtEngine(socket: string, engine: string, history: History): EngineLook {
  let closed = false;
  let call: ClientRequest | null = null;
  let again: NodeJS.Timeout | null = null;

  function take(line: string): void {
    const { Action, Actor } = JSON.parse(line) as EngineEvent;
    const [action = ""] = Action.split(":");
    if (!["create", "start", "kill", "die", "destroy", "oom"].includes(action)) return;
    const of = (name: string) => label(Actor.Attributes, name);
    const known = { sandbox: of("sandbox"), boot: of("boot"), purpose: of("purpose") };
    if (known.boot !== "") history.add({ kind: "container_event", engine, id: Actor.ID, action, ...known });
  }

  function listen(): void {
    const filters = encodeURIComponent(JSON.stringify({ type: ["container"] }));
    let rest = "";
    const retry = () => {
      if (!closed) again = setTimeout(listen, AGAIN_MS);
    };
    call = request({ socketPath: socket, path: `/events?filters=${filters}` }, (reply) => {
      reply.setEncoding("utf8").on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") take(line);
      });
      reply.on("error", () => undefined);
      reply.on("close", retry);
    });
    call.on("error", retry);
    call.end();
  }

  listen();
  return {
    look: async () => {
      const from_ms = monotonicMs();
      const reply = await engineCall(socket, "GET", "/containers/json?all=1", undefined, LOOK_DEADLINE_MS).catch(
        () => null,
      );
      if (reply?.status !== 200) return false;
      const rows = (reply.body as ContainerRow[]).map(containerOf).filter(({ boot }) => boot !== "");
      history.add({ kind: "containers", engine, from_ms, seen: rows });
      return true;
    },
    close: () => {
      closed = true;
      if (again !== null) clearTimeout(again);
      call?.destroy();
    },
  };
}
