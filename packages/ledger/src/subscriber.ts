/** One subscribing connection for a whole ledger, opened when first needed; it subscribes again after a reconnect. */
import type { Redis } from "ioredis";

export type Listener = (message: string) => void;

export interface Subscriber {
  /** Resolves once the server has confirmed. Returns how to stop. */
  subscribe(channel: string, listener: Listener): Promise<() => Promise<void>>;
  close(): void;
}

export function createSubscriber(open: () => Redis): Subscriber {
  const listeners = new Map<string, Set<Listener>>();
  let connection: Redis | null = null;

  function connected(): Redis {
    if (connection) return connection;
    connection = open();
    connection.on("message", (channel: string, message: string) => {
      for (const listener of listeners.get(channel) ?? []) listener(message);
    });
    return connection;
  }

  /** Not waited for: commands of one connection keep their order, so a later subscribe comes after it. */
  function stop(channel: string, listener: Listener): void {
    const set = listeners.get(channel);
    if (!set?.delete(listener) || set.size > 0) return;
    listeners.delete(channel);
    connection?.unsubscribe(channel).catch(() => undefined);
  }

  return {
    subscribe: async (channel, listener) => {
      const set = listeners.get(channel) ?? new Set();
      listeners.set(channel, set.add(listener));
      try {
        await connected().subscribe(channel);
      } catch (error) {
        stop(channel, listener);
        throw error;
      }
      return async () => stop(channel, listener);
    },
    close: () => {
      listeners.clear();
      connection?.disconnect();
    },
  };
}
