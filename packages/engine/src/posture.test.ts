import { readFileSync } from "node:fs";
import { type Hello, helloSchema } from "@holdfast/contract";
import { describe, expect, it } from "vitest";
import { buildContainerSpec, type SpecInput } from "./container-spec.js";
import { postureDeviations } from "./posture.js";

/** What a real engine and a real agent said of one sandbox. */
const recorded = JSON.parse(readFileSync(new URL("../samples/verified-cgroup-v1.json", import.meta.url), "utf8")) as {
  spec_input: SpecInput;
  inspect: Record<string, unknown>;
  hello: unknown;
};

const input: SpecInput = {
  ...recorded.spec_input,
  image_environment: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  runtime: "runc",
  agent_file: "holdfast-agent",
  agent_arguments: ["--lifetime-ms", "60000"],
  seccomp: "{}",
  cgroup_version: 1,
};
const hello = helloSchema.parse(recorded.hello);
const own_namespaces = { ipc: "ipc:[4026531839]", pid: "pid:[4026531836]", net: "net:[4026531840]" };

function judge(accounts: { inspect?: unknown; hello?: Hello }, own = own_namespaces): string[] {
  return postureDeviations(
    { name: String(recorded.inspect["Name"]).slice(1), inspect: recorded.inspect, hello, ...accounts },
    {
      spec: buildContainerSpec(input),
      resources: input.resources,
      uid: input.uid,
      agent_sha256: hello.agent_sha256,
      cgroup_version: 1,
      own_namespaces: own,
    },
  );
}

type Path = readonly (string | number)[];

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Every value in a tree, inner ones too. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  const inner = isTree(value) ? Object.keys(value).flatMap((key) => pathsIn(value[key], [...path, key])) : [];
  return path.length === 0 ? inner : [path, ...inner];
}

function valueAt(tree: unknown, path: Path): unknown {
  return path.reduce((value, key) => (isTree(value) ? value[key] : undefined), tree);
}

function withValue<T>(tree: T, path: Path, value: unknown): T {
  const copy = structuredClone(tree);
  const parent = valueAt(copy, path.slice(0, -1));
  if (isTree(parent)) parent[String(path.at(-1))] = value;
  return copy;
}

/** What each value could be instead: another one of its kind, more of it, or nothing at all. */
function mutantsOf(value: unknown): unknown[] {
  if (typeof value === "boolean") return [!value];
  if (typeof value === "number") return [value + 1, -1];
  if (typeof value === "string") return value === "" ? ["x"] : [`${value}x`, ""];
  if (Array.isArray(value)) return value.length === 0 ? [["x"]] : [[], [...value, "x"], value.slice(1)];
  if (isTree(value)) return [{ ...value, Unknown: "x" }];
  return ["x"];
}

const INSPECT_MUTANTS = pathsIn(recorded.inspect).flatMap((path) =>
  mutantsOf(valueAt(recorded.inspect, path)).map((mutant): [string, unknown, Path] => [path.join("."), mutant, path]),
);

/** What no control depends on; everything else an engine says must be as asked for. */
const FREE = [
  /^State\.(StartedAt|FinishedAt)$/,
  /^HostConfig\.ShmSize$/,
  /^HostConfig\.(MaskedPaths|ReadonlyPaths)/,
  /^HostConfig\.LogConfig\.Config$/,
  /^Config\.(OnBuild|Volumes)$/,
  /^Mounts\.0\.(Source|Driver|Mode|Propagation)$/,
  /^Mounts\.0$/,
  // Empty, or a profile of the host's choice; further labels are the image's. Each has its own cases below.
  /^HostConfig\.ConsoleSize$/,
  /^AppArmorProfile$/,
  /^Config\.Labels$/,
  /^Config\.Healthcheck$/,
  /^NetworkSettings/,
];

describe("the posture validator (E3)", () => {
  it("passes what a real engine and a real agent said of a sandbox", () => {
    expect(judge({})).toEqual([]);
  });

  it("has a mutant for each control", () => {
    const judged = INSPECT_MUTANTS.filter(([name]) => !FREE.some((free) => free.test(name)));
    expect(judged.length).toBeGreaterThan(150);
  });

  it.each(INSPECT_MUTANTS.filter(([name]) => !FREE.some((free) => free.test(name))))(
    "refuses inspect with %s: %j",
    (_, mutant, path) => {
      // A process id is whatever the host gave, but there is one.
      const free = path.join(".") === "State.Pid" && typeof mutant === "number" && mutant > 0;
      expect(judge({ inspect: withValue(recorded.inspect, path, mutant) }).length > 0).toBe(!free);
    },
  );

  it.each([
    ["a masked place laid open", ["HostConfig", "MaskedPaths"], []],
    ["a writable kernel place", ["HostConfig", "ReadonlyPaths"], ["/proc/bus"]],
    ["a volume of the image", ["Config", "Volumes"], { "/data": {} }],
    ["an anonymous second mount", ["Mounts"], [...(recorded.inspect["Mounts"] as object[]), { Type: "volume" }]],
    ["a writable agent volume", ["Mounts", 0, "RW"], true],
    ["another network", ["NetworkSettings", "Networks"], { bridge: {} }],
    ["a second network", ["NetworkSettings", "Networks"], { none: {}, bridge: {} }],
    ["an address", ["NetworkSettings", "IPAddress"], "172.17.0.2"],
    ["an option nobody knows", ["HostConfig", "NewPower"], true],
    ["a log that grows", ["HostConfig", "LogConfig", "Type"], "json-file"],
    ["an option of the log", ["HostConfig", "LogConfig", "Config"], { tag: "x" }],
    ["a health check", ["Config", "Healthcheck", "Test"], ["CMD", "true"]],
    ["a label that looks like ours", ["Config", "Labels", "holdfast.task"], "x"],
    ["AppArmor lifted", ["AppArmorProfile"], "unconfined"],
    ["an added variable", ["Config", "Env"], [...buildContainerSpec(input).Env, "LD_PRELOAD=/x"]],
  ] as [string, Path, unknown][])("refuses %s", (_, path, value) => {
    expect(judge({ inspect: withValue(recorded.inspect, path, value) })).not.toEqual([]);
  });

  it.each([null, [], "x", {}, { HostConfig: {} }])("refuses an answer that is no inspect: %j", (inspect) => {
    expect(judge({ inspect })).not.toEqual([]);
  });

  it.each([
    ["the interval of a health check that is none", ["Config", "Healthcheck", "Interval"], 1_000_000_000],
    ["labels of the image", ["Config", "Labels", "org.example"], "x"],
    ["a profile of AppArmor", ["AppArmorProfile"], "docker-default"],
    ["more masked places", ["HostConfig", "MaskedPaths", 12], "/sys/devices/virtual/powercap"],
  ] as [string, Path, unknown][])("lets %s be", (_, path, value) => {
    expect(judge({ inspect: withValue(recorded.inspect, path, value) })).toEqual([]);
  });
});

/** The schema holds the protocol; a period is judged with its quota. */
const HELLO_FREE = [
  /^protocol$/,
  /^cgroup\.cpu_period_us$/,
  /^boottime_ms$/,
  /^namespaces(\.(user|time|Unknown))?$/,
  /^mounts/,
  /^groups/,
  /^(cgroup|rlimits|capabilities)$/,
];
/** The contract knows null, "cannot be read", for limits alone. */
const nothingOf = (path: Path): null[] => (path[0] === "cgroup" ? [null] : []);
const HELLO_MUTANTS = pathsIn(hello)
  .filter((path) => !HELLO_FREE.some((free) => free.test(path.join("."))))
  .flatMap((path) =>
    [...mutantsOf(valueAt(hello, path)), ...nothingOf(path)].map((mutant): [string, unknown, Path] => [
      path.join("."),
      mutant,
      path,
    ]),
  );

describe("the posture validator on the agent's account (E3)", () => {
  it.each(HELLO_MUTANTS)("refuses a hello with %s: %j", (_, mutant, path) => {
    expect(judge({ hello: withValue(hello, path, mutant) })).not.toEqual([]);
  });

  it("refuses any further group, and takes none or its own", () => {
    expect(judge({ hello: { ...hello, groups: [] } })).toEqual([]);
    expect(judge({ hello: { ...hello, groups: [input.uid, 0] } })).toEqual(["hello.groups"]);
  });

  it.each(hello.mounts.map(({ target }, index): [string, number] => [target, index]))(
    "refuses %s mounted twice, and absent where it must be there",
    (target, index) => {
      const mount = hello.mounts[index];
      if (mount === undefined) throw new Error("no such mount");
      expect(judge({ hello: { ...hello, mounts: [...hello.mounts, mount] } })).toContain(`hello.mounts.${target}`);
      const without = judge({ hello: { ...hello, mounts: hello.mounts.filter((other) => other !== mount) } });
      const optional = /^\/(etc|proc|sys)\/./.test(target);
      expect(without).toEqual(optional ? [] : [`hello.mounts.${target}`]);
    },
  );

  it.each(hello.mounts.filter(({ options }) => options.startsWith("ro,")).map(({ target }): [string] => [target]))(
    "refuses %s once it is writable",
    (target) => {
      const mounts = hello.mounts.map((mount) =>
        mount.target === target ? { ...mount, options: mount.options.replace(/^ro/, "rw") } : mount,
      );
      expect(judge({ hello: { ...hello, mounts } })).toContain(`hello.mounts.${target}`);
    },
  );

  it.each([
    ["/workspace", "size=16384k", "size=16388k"],
    ["/workspace", "nr_inodes=4096", "nr_inodes=5000"],
    ["/workspace", "mode=700", "mode=777"],
    ["/workspace", `uid=${input.uid}`, "uid=0"],
    ["/workspace", "nosuid", "relatime"],
    ["/workspace", "nodev", "relatime"],
    ["/tmp", "size=65536k", "size=12345678k"],
    ["/dev/shm", "noexec", "relatime"],
    ["/dev/shm", "nr_inodes=16384", ""],
    ["/dev", "mode=755", "mode=777"],
    ["/proc", "nosuid", "relatime"],
  ])("refuses %s with %s replaced by %s", (target, option, instead) => {
    const found = hello.mounts.find((mount) => mount.target === target);
    expect(found?.options.split(",")).toContain(option);
    const mounts = hello.mounts.map((mount) =>
      mount === found ? { ...mount, options: mount.options.replace(option, instead) } : mount,
    );

    expect(judge({ hello: { ...hello, mounts } })).toEqual([`hello.mounts.${target}`]);
  });

  it.each([
    ["/workspace", "ext4"],
    ["/tmp", "overlay"],
    ["/proc", "tmpfs"],
  ])("refuses %s of kind %s", (target, type) => {
    const mounts = hello.mounts.map((mount) => (mount.target === target ? { ...mount, type } : mount));

    expect(judge({ hello: { ...hello, mounts } })).toEqual([`hello.mounts.${target}`]);
  });

  it.each(["/host", "/workspace/inner", "/run/docker.sock", "/etc/passwd", "/proc/open", "/sys/open"])(
    "refuses a mount at %s",
    (target) => {
      const mounts = [...hello.mounts, { target, type: "ext4", options: "rw,relatime,rw" }];

      expect(judge({ hello: { ...hello, mounts } })).toEqual([`hello.mounts.${target}`]);
    },
  );

  it.each(["cgroup", "ipc", "mnt", "net", "pid", "uts"])("refuses a %s namespace that is the worker's own", (name) => {
    const own = { ...own_namespaces, [name]: hello.namespaces[name] ?? "" };

    expect(judge({}, own)).toEqual([`hello.namespaces.${name}`]);
  });
});
