/** Which request a fault falls on, and what the fault is. */
import { performance } from "node:perf_hooks";
import type { RequestHead } from "./wire.js";

/** One request and its reply, as the proxy numbered them. */
export interface Exchange extends RequestHead {
  /** From 1 over the proxy's life. */
  readonly ordinal: number;
  readonly connection: number;
  /** Monotonic milliseconds at which the request came. */
  readonly at_ms: number;
}

export interface Selector {
  /** Redis command in capitals, or HTTP method. */
  readonly command?: string;
  /** Script by name. */
  readonly script?: string | RegExp;
  /** Engine path without version and query. */
  readonly path?: RegExp;
  readonly where?: (head: RequestHead) => boolean;
  /** Which of the matching requests, counted from 1 since the rule was set. Default 1. */
  readonly nth?: number;
  /** The nth and all after it. */
  readonly every?: boolean;
}

export type Action =
  /** Not forwarded until released. `orphan`: what a release does once the client is gone. */
  | { readonly kind: "hold_request"; readonly orphan: "drop" | "deliver" }
  /** Applied; its reply waits until released. */
  | { readonly kind: "hold_reply" }
  | { readonly kind: "drop_request" }
  /** Applied, then the connection is closed, or kept open and silent. */
  | { readonly kind: "drop_reply"; readonly after: "close" | "keep" }
  /** Applied, then so many bytes of the reply come through before the connection is closed. */
  | { readonly kind: "cut_reply"; readonly bytes: number }
  | { readonly kind: "delay"; readonly request_ms: number; readonly reply_ms: number }
  /** Not forwarded: the server seems to have failed. */
  | { readonly kind: "fail"; readonly text: string };

export const holdRequest = (orphan: "drop" | "deliver" = "drop"): Action => ({ kind: "hold_request", orphan });
export const holdReply = (): Action => ({ kind: "hold_reply" });
export const dropRequest = (): Action => ({ kind: "drop_request" });
export const dropReply = (after: "close" | "keep" = "close"): Action => ({ kind: "drop_reply", after });
export const cutReply = (bytes: number): Action => ({ kind: "cut_reply", bytes });
export const delayRequest = (ms: number): Action => ({ kind: "delay", request_ms: ms, reply_ms: 0 });
export const delayReply = (ms: number): Action => ({ kind: "delay", request_ms: 0, reply_ms: ms });
export const fail = (text: string): Action => ({ kind: "fail", text });

function matches(selector: Selector, head: RequestHead): boolean {
  const { command, script, path, where } = selector;
  if (command !== undefined && head.name !== command) return false;
  if (typeof script === "string" && head.detail !== script) return false;
  if (script instanceof RegExp && !script.test(head.detail ?? "")) return false;
  if (path !== undefined && !path.test(head.detail ?? "")) return false;
  return where === undefined || where(head);
}

/** A fault that waits for its request. */
export class Rule {
  readonly selector: Selector;
  readonly action: Action;
  /** The requests it fell on. */
  readonly hits: Exchange[] = [];
  private seen = 0;
  private removed = false;
  private released = false;
  private readonly reachedWaiters = new Set<(exchange: Exchange) => void>();
  private readonly releaseWaiters = new Set<() => void>();
  private arrived: Exchange | null = null;

  constructor(selector: Selector, action: Action) {
    this.selector = selector;
    this.action = action;
  }

  takes(head: RequestHead): boolean {
    if (this.removed || !matches(this.selector, head)) return false;
    this.seen += 1;
    const nth = this.selector.nth ?? 1;
    return this.selector.every === true ? this.seen >= nth : this.seen === nth;
  }

  /** Resolves when the fault took hold: the request came, or, for a fault of the reply, the request was applied. */
  reached(bound_ms: number): Promise<Exchange> {
    if (this.arrived !== null) return Promise.resolve(this.arrived);
    return new Promise((resolve, reject) => {
      const done = (exchange: Exchange) => {
        clearTimeout(timer);
        resolve(exchange);
      };
      const timer = setTimeout(() => {
        this.reachedWaiters.delete(done);
        const { command = "", script = "", path = "", nth = 1 } = this.selector;
        reject(new Error(`no request ${nth} of ${command} ${script}${path} within ${bound_ms} ms; ${this.seen} seen`));
      }, bound_ms);
      this.reachedWaiters.add(done);
    });
  }

  markReached(exchange: Exchange): void {
    this.hits.push(exchange);
    this.arrived ??= exchange;
    for (const done of this.reachedWaiters) done(exchange);
    this.reachedWaiters.clear();
  }

  /** Lets what is held pass, and holds nothing more. */
  release(): void {
    this.released = true;
    for (const wake of this.releaseWaiters) wake();
    this.releaseWaiters.clear();
  }

  /** Falls on no further request; what is held stays held until released. */
  remove(): void {
    this.removed = true;
  }

  untilReleased(): Promise<void> {
    if (this.released) return Promise.resolve();
    return new Promise((resolve) => {
      this.releaseWaiters.add(resolve);
    });
  }
}

/** The first rule that takes the request, of those still set. */
export function ruleFor(rules: readonly Rule[], head: RequestHead): Rule | null {
  return rules.find((rule) => rule.takes(head)) ?? null;
}

export function monotonicMs(): number {
  return performance.now();
}
