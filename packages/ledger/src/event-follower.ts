/**
 * Follows a task's events: subscribe, read from the cursor, then follow the news; on a hole or silence read again.
 * Pub/sub only wakes and saves reads: what a reader gets is 1..n, or an explicit gap (V1).
 */
import { HoldfastError, isTerminal, type StreamItem, type TaskName, TIMES } from "@holdfast/contract";
import { type EventPage, PAGE_EVENTS_MAX } from "./event-page.js";
import type { FollowOptions } from "./ledger.js";
import { createMailbox, type Mailbox } from "./mailbox.js";

export interface FollowDeps {
  page(after: number, limit: number): Promise<EventPage | null>;
  listen(put: (message: string) => void): Promise<() => Promise<void>>;
  /** Monotonic milliseconds. */
  now(): number;
  readonly silence_ms?: number;
  readonly heartbeat_ms?: number;
}

const SILENCE_MS = 1_000;

/** What one reader knows. */
interface Place {
  cursor: number;
  running: boolean;
  /** When this reader last had a sign of life from the task. */
  heard_ms: number;
  stale: boolean;
  ended: boolean;
}

export async function* followEvents(
  deps: FollowDeps,
  name: TaskName,
  options: FollowOptions,
): AsyncGenerator<StreamItem, void, undefined> {
  const { signal } = options;
  const mailbox = createMailbox();
  const silence_ms = deps.silence_ms ?? SILENCE_MS;
  const place: Place = { cursor: options.after, running: false, heard_ms: deps.now(), stale: false, ended: false };
  const listening = deps.listen(mailbox.put);
  listening.catch(() => undefined);
  try {
    // Without its confirmation the reader still gets everything, only later: each silence reads the stream.
    await Promise.race([listening.catch(() => undefined), mailbox.take(silence_ms, signal)]);
    let known = false;
    while (!place.ended && !signal?.aborted) {
      const page = await pageOrNull(deps, place.cursor, { known, signal });
      if (page === "aborted") return;
      if (page === "away") {
        await mailbox.take(silence_ms, signal);
        continue;
      }
      if (page === null) throw new HoldfastError("TASK_NOT_FOUND", { evidence: { task_id: name.task_id } });
      known = true;
      yield* fromPage(page, place, deps.now());
      if (place.ended || place.cursor < page.last) continue;
      yield* fromNews({ mailbox, place, signal, silence_ms, ...staleness(deps) });
    }
  } finally {
    listening.then((stop) => stop()).catch(() => undefined);
  }
}

function staleness(deps: FollowDeps): { now(): number; stale_ms: number } {
  return { now: deps.now, stale_ms: (deps.heartbeat_ms ?? TIMES.heartbeat_ms) * TIMES.heartbeats_missed_max };
}

/** A reader that got one page survives any outage after it; before, the caller is told. */
async function pageOrNull(
  deps: FollowDeps,
  after: number,
  state: { known: boolean; signal: AbortSignal | undefined },
): Promise<EventPage | null | "away" | "aborted"> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<"aborted">((resolve) => {
    abort = () => resolve("aborted");
    state.signal?.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([deps.page(after, PAGE_EVENTS_MAX), aborted]);
  } catch (error) {
    if (state.known && error instanceof HoldfastError && error.code === "LEDGER_UNAVAILABLE") return "away";
    throw error;
  } finally {
    state.signal?.removeEventListener("abort", abort);
  }
}

function* fromPage(page: EventPage, place: Place, now_ms: number): Generator<StreamItem> {
  place.running = page.status === "RUNNING";
  if (page.last < place.cursor) {
    yield { kind: "reset" };
    place.cursor = 0;
    return;
  }
  for (const event of page.events) {
    if (event.sequence > place.cursor + 1) yield gap(place.cursor + 1, event.sequence - 1);
    place.cursor = event.sequence;
    place.ended = event.kind === "task_finished";
    yield event;
  }
  if (page.events.length > 0) heard(place, now_ms);
  if (page.events.length > 0 || !isTerminal(page.status)) return;
  if (place.cursor < page.last) yield gap(place.cursor + 1, page.last);
  place.ended = true;
}

interface NewsOptions {
  readonly mailbox: Mailbox;
  readonly place: Place;
  readonly signal: AbortSignal | undefined;
  readonly silence_ms: number;
  readonly stale_ms: number;
  now(): number;
}

/** Ends where the stream must be read: on a hole, a silence, or an event that was too large to be published. */
async function* fromNews(options: NewsOptions): AsyncGenerator<StreamItem, void, undefined> {
  const { mailbox, place, signal } = options;
  while (!place.ended && !signal?.aborted) {
    const news = await mailbox.take(options.silence_ms, signal);
    switch (news.kind) {
      case "overflow":
        return;
      case "silence":
        if (place.running && !place.stale && options.now() - place.heard_ms >= options.stale_ms) {
          place.stale = true;
          yield { kind: "stale" };
        }
        return;
      case "heartbeat":
        heard(place, options.now());
        yield { kind: "task_heartbeat", at_ms: news.at_ms };
        break;
      case "event":
        if (news.sequence <= place.cursor) break;
        if (news.sequence > place.cursor + 1 || news.event === null) return;
        place.cursor = news.sequence;
        place.ended = news.event.kind === "task_finished";
        if (news.event.kind === "task_started") place.running = true;
        heard(place, options.now());
        yield news.event;
        break;
    }
  }
}

function heard(place: Place, now_ms: number): void {
  place.heard_ms = now_ms;
  place.stale = false;
}

function gap(from: number, to: number): StreamItem {
  return { kind: "gap", from, to };
}
