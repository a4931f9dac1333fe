/** What the line itself is like, for all connections of a proxy at once. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "./proxy-rules.js";

export type Mode =
  | { readonly kind: "pass" }
  /** Each piece arrives so much later, in both directions. */
  | { readonly kind: "delay"; readonly ms: number }
  | { readonly kind: "slow"; readonly bytes_per_second: number }
  /** Connections are accepted and everything sent on them is lost. */
  | { readonly kind: "half_open" }
  /** Requests are applied; what the server says is lost. */
  | { readonly kind: "mute" }
  /** A partition that heals: nothing passes until the mode changes, then everything does. */
  | { readonly kind: "stall" }
  /** All connections end and new ones are refused. */
  | { readonly kind: "cut" };

export type Direction = "to_server" | "to_client";

const SLICE_BYTES = 1024;

/** The line's state, and whoever waits for it to change. */
export class Line {
  private current: Mode = { kind: "pass" };
  private readonly waiters = new Set<() => void>();

  get mode(): Mode {
    return this.current;
  }

  set(mode: Mode): void {
    this.current = mode;
    for (const wake of this.waiters) wake();
    this.waiters.clear();
  }

  private changed(): Promise<void> {
    return new Promise((resolve) => {
      this.waiters.add(resolve);
    });
  }

  /** Resolves when a piece that came at `at_ms` may go on: false where it is lost. */
  async passage(direction: Direction, at_ms: number): Promise<boolean> {
    while (this.current.kind === "stall") await this.changed();
    if (this.current.kind === "delay") await sleep(Math.max(0, at_ms + this.current.ms - monotonicMs()));
    if (this.current.kind === "half_open") return false;
    return !(this.current.kind === "mute" && direction === "to_client");
  }

  /** Writes as fast as the line is. */
  async carry(bytes: Buffer, write: (bytes: Buffer) => Promise<void>): Promise<void> {
    let at = 0;
    while (this.current.kind === "slow" && at < bytes.length) {
      const slice = bytes.subarray(at, at + Math.min(SLICE_BYTES, Math.max(1, this.current.bytes_per_second / 20)));
      await sleep((slice.length / this.current.bytes_per_second) * 1000);
      await write(slice);
      at += slice.length;
    }
    if (at < bytes.length) await write(at === 0 ? bytes : bytes.subarray(at));
  }
}
