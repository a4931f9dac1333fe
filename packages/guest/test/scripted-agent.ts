/** The far end of a link, scripted frame by frame, for tests of the worker's side: it may also lie. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import type { Exited } from "@holdfast/contract";
import { AGENT_FRAME, type AgentFrameName, PREAMBLE, WORKER_FRAME } from "../src/frames.js";
import type { GuestExec, GuestSinks } from "../src/guest-link.js";
import { openGuestLink } from "../src/open-guest-link.js";

const VECTORS = join(import.meta.dirname, "..", "vectors", "to-worker.json");
export const HELLO = JSON.parse(readFileSync(VECTORS, "utf8"))[0].frames[0].body;
const NAMES = new Map<number, string>(Object.entries(WORKER_FRAME).map(([name, code]) => [code, name]));

interface Sent {
  readonly name: string;
  readonly id: number;
  readonly payload: Buffer;
}

/** The far end of the stream: it keeps what the worker wrote and says what the test tells it to. */
export class FarEnd extends Duplex {
  readonly #written: Buffer[] = [];
  ended = false;
  /** Holds writes back, as a side that does not read. */
  stalled: (() => void)[] | null = null;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#written.push(chunk);
    if (this.stalled) this.stalled.push(done);
    else done();
  }

  override _final(done: () => void): void {
    this.ended = true;
    done();
  }

  say(name: AgentFrameName, id: number, body: Buffer | object = Buffer.alloc(0)): void {
    const payload = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    const header = Buffer.alloc(9);
    header.writeUInt32BE(payload.length, 0);
    header.writeUInt8(AGENT_FRAME[name], 4);
    header.writeUInt32BE(id, 5);
    this.push(Buffer.concat([header, payload]));
  }

  get bytesWritten(): number {
    return Buffer.concat(this.#written).length;
  }

  sent(name?: string): Sent[] {
    const all = Buffer.concat(this.#written);
    const found: Sent[] = [];
    for (let at = PREAMBLE.length; at + 9 <= all.length; ) {
      const end = at + 9 + all.readUInt32BE(at);
      const frame = { name: NAMES.get(all.readUInt8(at + 4)) ?? "?", id: all.readUInt32BE(at + 5) };
      found.push({ ...frame, payload: all.subarray(at + 9, end) });
      at = end;
    }
    return name === undefined ? found : found.filter((frame) => frame.name === name);
  }
}

export const settled = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

export interface World {
  readonly far: FarEnd;
  readonly link: ReturnType<typeof openGuestLink>;
  live_ms: number;
  now_ms: number;
}

export function open(output_window_bytes = 4096): World {
  const far = new FarEnd();
  const world = { far, live_ms: 68_000.7, now_ms: 5 } as World;
  const options = { permission: () => world.live_ms, now: () => world.now_ms, output_window_bytes };
  return Object.assign(world, { link: openGuestLink(far, options) });
}

export function greeted(output_window_bytes?: number): World {
  const world = open(output_window_bytes);
  world.far.push(PREAMBLE);
  world.far.say("hello", 0, HELLO);
  return world;
}

export const COMMAND: GuestExec = {
  argv: ["cat", "-"],
  env: { MODE: "x" },
  working_directory: "/workspace",
  stdin: Buffer.alloc(0),
  timeout_ms: 1000,
  leftovers: "kill",
};

export const EXITED: Exited = {
  exit_code: 0,
  signal: null,
  timed_out: false,
  start_failure: null,
  wall_ms: 1,
  cpu_ms: 1,
  memory_peak_bytes: null,
  oom_kills: null,
  full_mounts: [],
  stdout_bytes: 0,
  stderr_bytes: 0,
  progress_dropped: 0,
  tree: null,
};

export const quiet: GuestSinks = { stdout: () => {}, stderr: () => {}, progress: () => {} };

/** A sink that takes one piece each time the test lets it. */
export function gate(): { take(chunk: Buffer): Promise<void>; open(): void; readonly seen: Buffer[] } {
  const seen: Buffer[] = [];
  let release: (() => void) | null = null;
  const take = (chunk: Buffer) => {
    seen.push(chunk);
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  };
  return { take, open: () => release?.(), seen };
}
