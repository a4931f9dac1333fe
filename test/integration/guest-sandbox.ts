/** The real agent as process 1 of its own mount and pid namespace, with a root of its own; needs root, no engine. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { type GuestExec, type GuestExit, type GuestLink, openGuestLink } from "@holdfast/guest";
import { AGENT_DIRECTORY } from "../support/engine-fixture.js";
import { scratchFolder } from "../support/scratch.js";

export const GUEST_UID = 1_048_577;
const SCRIPT = join(import.meta.dirname, "guest-sandbox.sh");

export interface GuestOptions {
  readonly lifetime_ms?: number;
  readonly pids_max?: number;
  readonly memory_bytes?: number;
  readonly workspace_bytes?: number;
  readonly output_window_bytes?: number;
  readonly assigned?: boolean;
  permission?(): number;
}

export interface Guest {
  readonly link: GuestLink;
  readonly stream: Socket;
  /** Resolves when the agent, and the kernel with it every process of the sandbox, has ended. */
  readonly gone: Promise<number | null>;
  /** Of the program that made the namespaces; the agent is its only child. */
  readonly pid: number;
  close(): Promise<void>;
}

interface Group {
  readonly path: string;
  readonly files: Readonly<Record<string, string>>;
}

function groupsOf(options: GuestOptions, name: string): Group[] {
  const groups: Group[] = [];
  if (options.pids_max !== undefined) {
    groups.push({ path: `/sys/fs/cgroup/pids/${name}`, files: { "pids.max": `${options.pids_max}` } });
  }
  if (options.memory_bytes !== undefined) {
    const files = { "memory.limit_in_bytes": `${options.memory_bytes}` };
    groups.push({ path: `/sys/fs/cgroup/memory/${name}`, files });
  }
  for (const { path, files } of groups) {
    mkdirSync(path);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  }
  return groups;
}

function launch(options: GuestOptions, root: string, groups: readonly Group[]): ChildProcess {
  const namespaces = ["--mount", "--pid", "--ipc", "--net", "--fork", "--kill-child", "--propagation", "private"];
  const env = {
    PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
    ROOT: root,
    AGENT: join(AGENT_DIRECTORY, "holdfast-agent"),
    GUEST_UID: `${GUEST_UID}`,
    WORKSPACE_BYTES: `${options.workspace_bytes ?? 67_108_864}`,
    LIFETIME_MS: `${options.lifetime_ms ?? 600_000}`,
    GROUPS_JOINED: groups.map(({ path }) => path).join(" "),
  };
  return spawn("/usr/bin/unshare", [...namespaces, "sh", SCRIPT], {
    env,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
}

export async function startGuest(options: GuestOptions = {}): Promise<Guest> {
  const root = scratchFolder("guest");
  const groups = groupsOf(options, `holdfast-test-${process.pid}-${root.slice(-6)}`);
  const child = launch(options, root, groups);
  const stream = child.stdio[3] as Socket;
  const gone = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const link = openGuestLink(stream, {
    permission: options.permission ?? (() => 60_000),
    now: () => performance.now(),
    ...(options.output_window_bytes === undefined ? {} : { output_window_bytes: options.output_window_bytes }),
  });
  const close = async () => {
    link.close();
    stream.destroy();
    await gone;
    for (const { path } of groups) rmdirSync(path);
    rmSync(root, { recursive: true });
  };
  if (options.assigned !== false) await link.assign({ lifetime_ms: options.lifetime_ms ?? 600_000 });
  return { link, stream, gone, pid: child.pid ?? 0, close };
}

export interface Ran {
  readonly exit: GuestExit;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly progress: readonly Record<string, unknown>[];
}

export const PATH = "/usr/bin:/bin";

/** A command with everything a test does not care about. */
export function command(argv: readonly string[], extra: Partial<GuestExec> = {}): GuestExec {
  const rest = { working_directory: "/workspace", stdin: Buffer.alloc(0), timeout_ms: 20_000 };
  return { argv, env: { PATH }, ...rest, leftovers: "kill", ...extra };
}

export async function run(guest: Guest, argv: readonly string[], extra: Partial<GuestExec> = {}): Promise<Ran> {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  const progress: Record<string, unknown>[] = [];
  const { exited } = guest.link.exec(command(argv, extra), {
    stdout: (chunk) => void stdout.push(chunk),
    stderr: (chunk) => void stderr.push(chunk),
    progress: (line) => void progress.push(line),
  });
  const exit = await exited;
  return { exit, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr), progress };
}

export const sh = (guest: Guest, script: string, extra: Partial<GuestExec> = {}): Promise<Ran> =>
  run(guest, ["sh", "-c", script], extra);

/** Something that happens once and may be waited for. */
export function latch(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Command lines of all processes of the sandbox that begin with `program`. */
export async function processesOf(guest: Guest, program: string): Promise<string[]> {
  const script = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done";
  const { stdout } = await sh(guest, script, { leftovers: "keep" });
  const lines = stdout
    .toString("utf8")
    .split("\n")
    .map((line) => line.trim());
  return lines.filter((line) => line.startsWith(`${program} `));
}
