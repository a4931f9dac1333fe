/** Watches one live sandbox: the end of its link, and its silence. Tells once what ended it. */
import { monotonicMs } from "@holdfast/chassis";
import { TIMES } from "@holdfast/contract";
import type { GuestLink } from "@holdfast/guest";
import type { SandboxEnd } from "./engine.js";
import type { EngineConnection } from "./engine-connection.js";
import { explainLinkEnd, lookAt } from "./sandbox-ending.js";

const LOOK_MS = 1_000;

/**
 * How long a sandbox has truly been silent. A worker that stalls finds its timers due before the frames that came
 * meanwhile, so silence counts only from the last tick that was on time.
 */
export function silenceMeter(): (now_ms: number, heard_ms: number) => number {
  let tick_ms: number | null = null;
  let since_ms = 0;
  return (now_ms, heard_ms) => {
    if (tick_ms === null || now_ms - tick_ms > 2 * LOOK_MS) since_ms = now_ms;
    tick_ms = now_ms;
    return now_ms - Math.max(since_ms, heard_ms);
  };
}

export interface SandboxWatch {
  readonly ended: Promise<SandboxEnd>;
  /** The first end wins; later ones are nothing. */
  end(end: SandboxEnd): void;
}

export function watchSandbox(connection: EngineConnection, id: string, link: GuestLink): SandboxWatch {
  const silence = silenceMeter();
  let looking = false;
  let over = false;
  let resolveEnd: (end: SandboxEnd) => void = () => {};
  const ended = new Promise<SandboxEnd>((resolve) => {
    resolveEnd = resolve;
  });

  const end = (reason: SandboxEnd): void => {
    over = true;
    clearInterval(timer);
    resolveEnd(reason);
  };

  async function look(): Promise<void> {
    const silent_ms = silence(monotonicMs(), link.lastHeard());
    if (silent_ms < TIMES.pulse_suspect_ms || looking) return;
    looking = true;
    const found = await lookAt(connection, id);
    looking = false;
    if (found !== null) return end(found);
    const still_ms = monotonicMs() - link.lastHeard();
    if (silent_ms >= TIMES.pulse_lost_ms && still_ms >= TIMES.pulse_lost_ms) {
      end({ kind: "guest_lost", detail: "process 1 is silent", oom_killed: null });
    }
  }

  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  void link.ended.then(async (how) => {
    clearInterval(timer);
    if (!over) end(await explainLinkEnd(connection, id, how));
  });
  return { ended, end };
}
