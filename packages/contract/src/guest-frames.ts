/** The agent's JSON control frames, parsed on arrival: what comes out of a sandbox is untrusted. */
import { z } from "zod";
import { treeReceiptSchema } from "./outcome.js";

const count = z.int().nonnegative();

/** What the agent reports of its own live sandbox; the engine's validator compares it with the spec. */
export const helloSchema = z.object({
  protocol: z.literal(1),
  /** Hex sha-256 of the agent's own program file. */
  agent_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  pid: z.int(),
  uid: z.int(),
  gid: z.int(),
  groups: z.array(z.int()).max(64),
  /** Hex masks from /proc/self/status. */
  capabilities: z.object({
    inheritable: z.string(),
    permitted: z.string(),
    effective: z.string(),
    bounding: z.string(),
    ambient: z.string(),
  }),
  no_new_privs: z.boolean(),
  /** 2 = filter. */
  seccomp_mode: z.int(),
  dumpable: z.boolean(),
  /** From the sandbox's own control group; null where it cannot be read. */
  cgroup: z.object({
    version: z.union([z.literal(1), z.literal(2)]).nullable(),
    memory_bytes: count.nullable(),
    memory_swap_bytes: count.nullable(),
    pids_max: count.nullable(),
    cpu_quota_us: z.int().nullable(),
    cpu_period_us: z.int().nullable(),
    oom_kills: count.nullable(),
  }),
  rlimits: z.object({ nofile: count, core: count }),
  /** Every mount: target, type, options of mount and superblock joined with commas. */
  mounts: z.array(z.object({ target: z.string(), type: z.string(), options: z.string() })).max(256),
  /** Names of network interfaces. */
  interfaces: z.array(z.string()).max(64),
  /** Numbers of the descriptors open when the agent started: what it was given, not what it opened itself. */
  descriptors: z.array(z.int()).max(256),
  namespaces: z.record(z.string(), z.string()),
  boottime_ms: count,
});
export type Hello = z.infer<typeof helloSchema>;

/** `t0_ms` is the agent's own boot time when it asked for permission to live. */
export const pulseSchema = z.object({ t0_ms: count });

export const startedSchema = z.object({ pid: z.int().positive() });

/** Names such as `ENOENT`. */
const errnoSchema = z.string().regex(/^E[A-Z0-9]{1,31}$/);

/** What kept a command from starting: `path` and `interpreter` mean that there is no such program. */
export const START_STEPS = ["pipe", "fork", "chdir", "path", "interpreter", "exec"] as const;
export type StartStep = (typeof START_STEPS)[number];

export const exitedSchema = z.object({
  /** From waitpid; 128+n where signal n ended it, 126 or 127 where it did not start, null where nothing is known. */
  exit_code: z.int().min(0).max(255).nullable(),
  signal: z.int().min(1).max(64).nullable(),
  timed_out: z.boolean(),
  start_failure: z.object({ step: z.enum(START_STEPS), errno: errnoSchema }).nullable(),
  wall_ms: count,
  cpu_ms: count,
  memory_peak_bytes: count.nullable(),
  oom_kills: count.nullable(),
  full_mounts: z.array(z.enum(["/workspace", "/tmp", "/dev/shm"])).max(3),
  stdout_bytes: count,
  stderr_bytes: count,
  progress_dropped: count,
  tree: treeReceiptSchema.nullable(),
});
export type Exited = z.infer<typeof exitedSchema>;

/** A request was refused: the path of a file, or what was wrong. */
export const failedSchema = z.object({ errno: errnoSchema, detail: z.string() });

export const byeSchema = z.object({ reason: z.string().min(1).max(64) });

/** Bytes of stdin that the agent has room for again. */
export const stdinCreditSchema = z.object({ bytes: count });

/** One line of descriptor 3. */
export const progressLineSchema = z.record(z.string(), z.unknown());
