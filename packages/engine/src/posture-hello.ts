/** Holds process 1's own account of its sandbox to the spec: what is in force, not what was asked for. Closed. */
import type { Hello, Resources } from "@holdfast/contract";
import { CORE_BYTES, type ContainerSpec, NOFILE_MAX } from "./container-spec.js";
import { mountTableDeviations } from "./posture-mounts.js";

export interface HelloExpectation {
  readonly spec: ContainerSpec;
  readonly resources: Resources;
  readonly uid: number;
  readonly agent_sha256: string;
  readonly cgroup_version: 1 | 2;
  /** Of the worker itself, by name; a sandbox shares none of them. */
  readonly own_namespaces: Readonly<Record<string, string>>;
}

/** Those a sandbox must have of its own. The user namespace is the engine's to choose. */
export const OWN_NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "uts"] as const;

/** What process 1 was started with: input, output, error output; anything else leaked into the sandbox. */
const DESCRIPTORS = "0,1,2";

function identityDeviations(hello: Hello, uid: number): string[] {
  const controls: Record<string, boolean> = {
    pid: hello.pid === 1,
    uid: hello.uid === uid,
    gid: hello.gid === uid,
    // Engines add the own group to the list of further ones.
    groups: hello.groups.every((group) => group === uid),
    no_new_privs: hello.no_new_privs,
    seccomp_mode: hello.seccomp_mode === 2,
    dumpable: !hello.dumpable,
  };
  const sets = Object.entries(hello.capabilities).map(([name, mask]) => [`capabilities.${name}`, /^0+$/.test(mask)]);
  return [...Object.entries(controls), ...sets].filter(([, fits]) => fits !== true).map(([name]) => String(name));
}

function limitDeviations(hello: Hello, expected: HelloExpectation): string[] {
  const { HostConfig } = expected.spec;
  const { cgroup, rlimits } = hello;
  const quota = (HostConfig.NanoCpus / 1e9) * (cgroup.cpu_period_us ?? Number.NaN);
  const controls: Record<string, boolean> = {
    "cgroup.version": cgroup.version === expected.cgroup_version,
    "cgroup.memory_bytes": cgroup.memory_bytes === HostConfig.Memory,
    "cgroup.memory_swap_bytes": cgroup.memory_swap_bytes === HostConfig.MemorySwap,
    "cgroup.pids_max": cgroup.pids_max === HostConfig.PidsLimit,
    "cgroup.cpu": cgroup.cpu_quota_us !== null && Math.abs(cgroup.cpu_quota_us - quota) < 1,
    "cgroup.oom_kills": cgroup.oom_kills === 0,
    "rlimits.nofile": rlimits.nofile === NOFILE_MAX,
    "rlimits.core": rlimits.core === CORE_BYTES,
  };
  return Object.entries(controls).flatMap(([name, fits]) => (fits ? [] : [name]));
}

function isolationDeviations(hello: Hello, own: Readonly<Record<string, string>>): string[] {
  const shared = OWN_NAMESPACES.filter((name) => {
    const theirs = hello.namespaces[name];
    return theirs === undefined || !/^[a-z]+:\[[0-9]+\]$/.test(theirs) || theirs === own[name];
  });
  return [
    ...shared.map((name) => `namespaces.${name}`),
    ...(hello.interfaces.join() === "lo" ? [] : ["interfaces"]),
    ...([...hello.descriptors].sort((a, b) => a - b).join() === DESCRIPTORS ? [] : ["descriptors"]),
  ];
}

/** Names of the controls that are not in force; empty where the sandbox is what was specified. */
export function helloDeviations(hello: Hello, expected: HelloExpectation): string[] {
  return [
    ...(hello.agent_sha256 === expected.agent_sha256 ? [] : ["agent_sha256"]),
    ...identityDeviations(hello, expected.uid),
    ...limitDeviations(hello, expected),
    ...isolationDeviations(hello, expected.own_namespaces),
    ...mountTableDeviations(hello.mounts, expected.resources, expected.uid),
  ].map((name) => `hello.${name}`);
}
