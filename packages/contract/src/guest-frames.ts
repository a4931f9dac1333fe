/** The agent's JSON control frames, parsed on arrival: what comes out of a sandbox is untrusted. */
import { z } from "zod";

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
  /** Numbers of the open descriptors. */
  descriptors: z.array(z.int()).max(256),
  namespaces: z.record(z.string(), z.string()),
  boottime_ms: count,
});
export type Hello = z.infer<typeof helloSchema>;
