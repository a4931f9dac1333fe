/**
 * Children of the laboratory: workers, gateways, servers, engines. Signals go by pid and only while the pid still is
 * the process that was started. Whatever a test does, its children end with it: also when the test run is killed.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { waitFor } from "../../support/wait-for.js";
import { processFacts } from "./process-facts.js";
import { monotonicMs } from "./proxy-rules.js";

const OUTPUT_LINES_MAX = 50_000;

export interface ProcessSpec {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
  readonly at_ms: number;
}

export type LabSignal = "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGTERM" | "SIGINT";

export interface LabProcess {
  readonly name: string;
  readonly pid: number;
  readonly ended: Promise<ProcessEnd>;
  /** Resolves when it has ended and all it wrote was read. */
  readonly silent: Promise<void>;
  /** Lines of both outputs so far, oldest first. */
  readonly lines: readonly string[];
  alive(): boolean;
  /** Sends the signal if the pid still is this process. Returns whether it was sent. */
  signal(signal: LabSignal): boolean;
  /** SIGSTOP, and waits until the kernel has stopped it. */
  stop(): Promise<void>;
  resume(): void;
  kill(): Promise<ProcessEnd>;
  /** SIGTERM, and waits for the end; SIGKILL and an error after the bound. */
  terminate(bound_ms: number): Promise<ProcessEnd>;
  /** The first line from `from` on that matches, now or later. */
  line(pattern: RegExp, bound_ms: number, from?: number): Promise<string>;
}

const living = new Set<LabProcess>();

/** Ends every child that is left, and waits for their ends. */
export async function endAllProcesses(): Promise<void> {
  await Promise.all([...living].map((child) => child.kill()));
}

process.once("exit", () => {
  for (const child of living) child.signal("SIGKILL");
});

function collectLines(child: ChildProcess, lines: string[]): void {
  for (const stream of [child.stdout, child.stderr]) {
    let rest = "";
    stream?.setEncoding("utf8").on("data", (text: string) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
      if (lines.length > OUTPUT_LINES_MAX) lines.splice(0, lines.length - OUTPUT_LINES_MAX);
    });
  }
}

function spawned(spec: ProcessSpec): Promise<ChildProcess> {
  // The kernel ends the child with us, whatever ends us.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", spec.command, ...spec.args], {
    env: { ...(spec.env ?? process.env) },
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => resolve(child));
  });
}

export async function startProcess(spec: ProcessSpec): Promise<LabProcess> {
  const child = await spawned(spec);
  const pid = child.pid ?? 0;
  const started = processFacts(pid)?.started;
  const lines: string[] = [];
  collectLines(child, lines);
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal, at_ms: monotonicMs() }));
  });
  const silent = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  const isOurs = () => processFacts(pid)?.started === started;
  const signal = (name: LabSignal) =>
    child.exitCode === null && child.signalCode === null && isOurs() && child.kill(name);
  const lab: LabProcess = {
    name: spec.name,
    pid,
    ended,
    silent,
    lines,
    alive: () => child.exitCode === null && child.signalCode === null,
    signal,
    stop: async () => {
      signal("SIGSTOP");
      const stopped = () => processFacts(pid)?.state === "T";
      await waitFor(stopped, { bound_ms: 5_000, what: `${spec.name} is stopped`, look_ms: 2 });
    },
    resume: () => void signal("SIGCONT"),
    kill: () => {
      signal("SIGKILL");
      return ended;
    },
    terminate: async (bound_ms) => {
      signal("SIGTERM");
      const late = setTimeout(() => signal("SIGKILL"), bound_ms);
      const end = await ended;
      clearTimeout(late);
      if (end.signal === "SIGKILL") throw new Error(`${spec.name} did not end within ${bound_ms} ms of SIGTERM`);
      return end;
    },
    line: (pattern, bound_ms, from = 0) =>
      waitFor(
        async () => {
          if (child.exitCode !== null) await silent;
          const found = lines.slice(from).find((line) => pattern.test(line));
          if (found === undefined && child.exitCode !== null) {
            throw new Error(`${spec.name} ended with ${child.exitCode}: ${lines.slice(-5).join(" | ")}`);
          }
          return found;
        },
        { bound_ms, what: `${spec.name} writes ${pattern}` },
      ),
  };
  living.add(lab);
  void ended.then(() => living.delete(lab));
  return lab;
}
