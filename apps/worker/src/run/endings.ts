/**
 * Every way a run can end meets in one race; each is one small function here, and the first to end is the reason.
 * None of them acts: whoever called firstEnding() does what the reason asks for.
 */
import type { Sandbox } from "@holdfast/engine";
import type { Lease } from "../boot/lease.js";
import type { Orders } from "./orders.js";

/** How a command ended, as the agent saw it. */
export type GuestExit = Awaited<ReturnType<Sandbox["exec"]>["exited"]>;

export type Ending =
  | { readonly kind: "exit"; readonly exit: GuestExit }
  /** The agent did not end the command at its limit: the worker ends the sandbox. */
  | { readonly kind: "time_limit" }
  | { readonly kind: "cancel" }
  | { readonly kind: "shutdown" }
  /** Another has the task, or nobody: end it and write nothing. */
  | { readonly kind: "abandon"; readonly reason: string }
  /** The lease and its grace are over: the sandbox has no permission to live. */
  | { readonly kind: "lease_lost" }
  | { readonly kind: "guest_lost"; readonly detail: string; readonly oom_killed: boolean | null }
  | { readonly kind: "engine_lost"; readonly detail: string };

export interface EndingSources {
  /** Null before a command was started. */
  readonly exited: Promise<GuestExit> | null;
  readonly sandbox_ended: Sandbox["ended"];
  readonly orders: Orders;
  /** Resolves where the ledger refused the grant. */
  readonly fenced: Promise<void>;
  readonly lease: Pick<Lease, "permissionMs">;
  /** The worker's own limit, above the agent's; null while no command runs. */
  readonly limit_ms: number | null;
  engineAnswers(): Promise<boolean>;
}

const LEASE_LOOK_MS = 500;

const never = (): Promise<never> => new Promise(() => {});

/** A link that ended is no exit: the sandbox's own end tells why. */
async function onExit(exited: EndingSources["exited"]): Promise<Ending> {
  if (exited === null) return never();
  const exit = await exited.catch(() => null);
  return exit === null ? never() : { kind: "exit", exit };
}

type Found = (ending: Ending) => void;
type Stop = () => void;

function onTimeLimit(limit_ms: number | null, found: Found): Stop {
  if (limit_ms === null) return () => {};
  const timer = setTimeout(() => found({ kind: "time_limit" }), limit_ms);
  return () => clearTimeout(timer);
}

async function onFenced(fenced: Promise<void>): Promise<Ending> {
  await fenced;
  return { kind: "abandon", reason: "fenced" };
}

function onLeaseLost(lease: EndingSources["lease"], found: Found): Stop {
  const look = (): void => {
    if (lease.permissionMs() <= 0) found({ kind: "lease_lost" });
  };
  const timer = setInterval(look, LEASE_LOOK_MS);
  look();
  return () => clearInterval(timer);
}

/** What the engine calls a lost guest is the user's doing only while the engine itself answers. */
async function onSandboxEnd(sources: EndingSources): Promise<Ending> {
  const end = await sources.sandbox_ended;
  switch (end.kind) {
    case "destroyed":
      return never();
    case "engine_lost":
      return { kind: "engine_lost", detail: end.detail };
    case "guest_lost":
      if (await sources.engineAnswers()) return end;
      return { kind: "engine_lost", detail: end.detail };
    case "expired":
      if (end.reason === "lifetime") return { kind: "time_limit" };
      if (end.reason === "permission") return { kind: "lease_lost" };
      return { kind: "engine_lost", detail: `the sandbox ended itself: ${end.reason}` };
  }
}

export interface EndingWatch {
  readonly first: Promise<Ending>;
  /** Leaves no timer behind. Where nothing has ended the run yet, `first` is never settled any more. */
  stop(): void;
}

export function watchEndings(sources: EndingSources): EndingWatch {
  const stops: Stop[] = [];
  const timed = new Promise<Ending>((found) => {
    stops.push(onTimeLimit(sources.limit_ms, found), onLeaseLost(sources.lease, found));
  });
  const ways = [
    onExit(sources.exited),
    sources.orders.first,
    onFenced(sources.fenced),
    onSandboxEnd(sources),
    timed,
  ] as const;
  return {
    first: Promise.race(ways),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

export async function firstEnding(sources: EndingSources): Promise<Ending> {
  const watch = watchEndings(sources);
  try {
    return await watch.first;
  } finally {
    watch.stop();
  }
}
