/** Events of tasks: pages of what is stored, a stream of what comes, and heartbeats that are stored nowhere. */
import type { Caller } from "./caller.js";
import { followEvents } from "./event-follower.js";
import { PAGE_EVENTS_MAX, readPage } from "./event-page.js";
import { idPart, type Keys } from "./keys.js";
import type { EventStore } from "./ledger.js";
import type { Subscriber } from "./subscriber.js";

export interface EventStoreDeps {
  readonly caller: Caller;
  readonly keys: Keys;
  readonly subscriber: Subscriber;
}

export function createEventStore({ caller, keys, subscriber }: EventStoreDeps): EventStore {
  return {
    read: async (name, after, limit) => {
      const page = await readPage(caller, name, { after, limit: Math.max(1, Math.min(limit, PAGE_EVENTS_MAX)) });
      return [...(page?.events ?? [])];
    },
    follow: (name, options) =>
      followEvents(
        {
          page: (after, limit) => readPage(caller, name, { after, limit }),
          listen: (put) => subscriber.subscribe(keys.news(name.workspace_id, name.task_id), put),
          now: () => performance.now(),
        },
        name,
        options,
      ),
    heartbeat: async (name) => {
      await caller.run("events-heartbeat", [idPart(name.workspace_id), idPart(name.task_id)]);
    },
  };
}
