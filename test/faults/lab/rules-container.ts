/** E2 to E4: who ends a container, what comes before user code, and that no sandbox outlives its permission. */
import type { CheckRule, Violation } from "./checker.js";
import { allOf, groupBy, type HistoryRecord } from "./history.js";
import { ALIVE } from "./rules-capacity.js";

/** A DEAD is acted on only when it is older than this. */
const DEAD_AGE_MS = 2_000;

interface Known {
  readonly sandbox: string;
  readonly boot: string;
  readonly purpose: string;
}

function containersById(records: readonly HistoryRecord[]): Map<string, Known> {
  const seen = allOf(records, "containers").flatMap((look) => look.seen);
  return new Map([...seen, ...allOf(records, "container_event")].map(({ id, ...known }) => [id, known]));
}

function idIn(path: string): string | null {
  return /^\/containers\/([0-9a-f]{64})(?:\/|$)/.exec(path)?.[1] ?? null;
}

function ends(method: string, path: string): boolean {
  if (method === "DELETE") return path.startsWith("/containers/");
  return method === "POST" && /\/(kill|stop|restart)$/.test(path);
}

/** Earliest moment at which each boot can have been DEAD: after the last look that showed it alive. */
function deadSince(records: readonly HistoryRecord[]): Map<string, number> {
  const found = new Map<string, number>();
  const alive = new Map<string, number>();
  for (const { from_ms, boots } of allOf(records, "ledger")) {
    for (const [boot, state] of Object.entries(boots)) {
      if (state !== "DEAD") alive.set(boot, from_ms);
      else if (!found.has(boot)) found.set(boot, alive.get(boot) ?? 0);
    }
  }
  return found;
}

const onlyOwnerEnds: CheckRule = (records, { lease_ms, grace_ms }) => {
  const known = containersById(records);
  const own = new Set(allOf(records, "boot").map(({ actor, boot }) => `${actor} ${boot}`));
  const dead = deadSince(records);
  const dead_man_ms = lease_ms + grace_ms + DEAD_AGE_MS;
  const sightings = allOf(records, "containers");

  function mayEnd(actor: string, id: string, boot: string, sent_ms: number): boolean {
    if (own.has(`${actor} ${boot}`)) return true;
    const since = dead.get(boot);
    if (since !== undefined && sent_ms >= since + DEAD_AGE_MS) return true;
    const last = sightings
      .filter((look) => look.at_ms <= sent_ms)
      .flatMap((look) => look.seen.filter((one) => one.id === id))
      .at(-1);
    if (last === undefined) return false;
    return last.age_s > last.lifetime_s || (!ALIVE.has(last.state) && last.age_s * 1000 > dead_man_ms);
  }

  return allOf(records, "engine_call").flatMap(({ actor, method, path, sent_ms, status, at_ms }) => {
    const id = ends(method, path) && status.startsWith("2") ? idIn(path) : null;
    const container = id === null ? undefined : known.get(id);
    if (id === null || container === undefined || mayEnd(actor, id, container.boot, sent_ms)) return [];
    const message = `${actor} sent ${method} for ${container.sandbox} of ${container.boot}, which was not DEAD`;
    return [{ invariant: "E2", message, at_ms }];
  });
};

/** Between the start of a sandbox and its activation its owner looked at the live container. */
const verifiedBeforeActive: CheckRule = (records) => {
  const known = containersById(records);
  const calls = groupBy(allOf(records, "engine_call"), ({ path }) => known.get(idIn(path) ?? "")?.sandbox ?? "");
  const sandboxes = new Map(allOf(records, "grant").map(({ token, sandbox }) => [token, sandbox]));
  const found: Violation[] = [];
  for (const { op, reply, token, sent_ms, task, at_ms } of allOf(records, "write")) {
    const sandbox = sandboxes.get(token);
    if (op !== "activate" || reply !== "active" || sandbox === undefined) continue;
    const ofSandbox = calls.get(sandbox) ?? [];
    const started = ofSandbox.find(
      ({ method, path, status }) => method === "POST" && path.endsWith("/start") && status < "4",
    );
    const looked = ofSandbox.some(
      (call) =>
        call.method === "GET" &&
        call.path.endsWith("/json") &&
        call.status === "200" &&
        call.sent_ms >= (started?.at_ms ?? Number.POSITIVE_INFINITY) &&
        call.at_ms <= sent_ms,
    );
    if (!looked) found.push({ invariant: "E3", message: `${task} began in ${sandbox} before it was verified`, at_ms });
  }
  return found;
};

/** Whatever became of worker, ledger and engine: a sandbox runs at most lease and grace past its boot's last beat. */
const endsByItself: CheckRule = (records, { lease_ms, grace_ms, slack_ms }) => {
  const beats = groupBy(
    allOf(records, "beat").filter(({ reply }) => reply === "ok"),
    ({ boot }) => boot,
  );
  const begun = new Map(allOf(records, "boot").map(({ boot, at_ms }) => [boot, at_ms]));
  return allOf(records, "containers").flatMap(({ from_ms, seen }) =>
    seen.flatMap(({ boot, sandbox, purpose, state, age_s, lifetime_s }) => {
      if (!ALIVE.has(state) || purpose !== "task") return [];
      const last = (beats.get(boot) ?? []).filter(({ sent_ms }) => sent_ms <= from_ms).at(-1);
      const until = (last?.at_ms ?? begun.get(boot) ?? from_ms) + lease_ms + grace_ms + slack_ms;
      const note = (message: string) => [{ invariant: "E4", message: `${sandbox} ${message}`, at_ms: from_ms }];
      if (from_ms > until) return note(`runs ${Math.round(from_ms - until)} ms past its permission to live`);
      return age_s * 1000 > lifetime_s * 1000 + slack_ms ? note("runs past its lifetime") : [];
    }),
  );
};

export const containerRules: readonly CheckRule[] = [onlyOwnerEnds, verifiedBeforeActive, endsByItself];
