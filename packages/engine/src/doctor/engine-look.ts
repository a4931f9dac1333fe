/** Looks at an engine from outside, before anything is made in it: is it there, may we, and is it fit to be a host? */
import { TIMES } from "@holdfast/contract";
import { createEngineConnection, type EngineConnection } from "../engine-connection.js";
import { setUpRuntime } from "../engine-facts.js";
import type { EngineFailure } from "../engine-failure.js";
import { type JsonReader, reader } from "../json-reader.js";
import { type Check, failing, passed, warning } from "./check.js";

export interface EngineLook {
  readonly checks: readonly Check[];
  readonly connection: EngineConnection;
  /** What the engine says of itself; null where it could not be asked. */
  readonly info: JsonReader | null;
}

const START = "start it: `systemctl start docker`, or ./scripts/engine start";
const MALFORMED = "see that DOCKER_HOST names the socket of a Docker Engine, then look at that engine's log";
/** The first to speak the API that we are written against. */
const ENGINE_OLDEST = "20.10";

/** Why the engine cannot be asked: each cause has a remedy of its own. */
export function judgeSilence(failure: EngineFailure, socketPath: string): Check {
  const { kind, detail } = failure;
  if (kind === "unreachable" && failure.errno === "ENOENT") {
    const install = "install it (apt-get install docker.io) or set DOCKER_HOST to its socket; then";
    return failing("engine", `there is no socket at ${socketPath}`, `${install} ${START}`);
  }
  if (kind === "unreachable" && failure.errno === "EACCES") {
    const remedy = "add this user to the group of the socket (`usermod -aG docker USER`) and log in again";
    return failing("engine", `the socket ${socketPath} may not be opened by this user`, remedy);
  }
  if (kind === "unreachable") {
    return failing("engine", `nobody answers at ${socketPath} (${failure.errno ?? "no connection"})`, START);
  }
  if (kind === "deadline" || kind === "dropped") {
    const seen = kind === "deadline" ? `no answer in ${TIMES.engine_call_ms} ms` : "the connection breaks off";
    return failing(
      "engine",
      `${seen} at ${socketPath}`,
      "look at the engine's log and at the machine's load; restart it",
    );
  }
  return failing("engine", `${socketPath} answers, but not as an engine (${kind}: ${detail})`, MALFORMED);
}

const LIMITS = { memory: "MemoryLimit", swap: "SwapLimit", pids: "PidsLimit", cpu: "CpuCfsQuota" } as const;

function limitsCheck(info: JsonReader): Check {
  const absent = Object.entries(LIMITS).flatMap(([name, key]) => (info.flag(key) === true ? [] : [name]));
  const version = `control groups v${info.text("CgroupVersion") ?? "1"}`;
  if (absent.length === 0) return passed("cgroup_limits", `${version}: ${Object.keys(LIMITS).join(", ")}`);
  const kernel = "start the kernel with cgroup_enable=memory swapaccount=1";
  const remedy = `${kernel}; a rootless engine needs its controllers delegated (Delegate=yes)`;
  return failing("cgroup_limits", `${version}: it cannot limit ${absent.join(", ")}`, remedy);
}

function seccompCheck(info: JsonReader): Check {
  const options = info.list("SecurityOptions").map(({ raw }) => String(raw));
  if (options.some((option) => option.startsWith("name=seccomp"))) return passed("engine_seccomp", options.join(" "));
  const remedy = "use a kernel with CONFIG_SECCOMP_FILTER and an engine that was built with seccomp";
  return failing("engine_seccomp", "the engine applies no seccomp profiles", remedy);
}

function storageCheck(info: JsonReader): Check {
  const [driver, root] = [info.text("Driver"), info.text("DockerRootDir")];
  const seen = `${driver ?? "no driver"} in ${root ?? "an unknown folder"}`;
  if (driver === null || driver === "" || root === null) {
    return failing("storage", seen, "the engine has no usable storage: look at its log, and at the disk of its folder");
  }
  if (driver !== "vfs") return passed("storage", seen);
  return warning("storage", `${seen}: each sandbox copies its image`, "use overlay2 as the engine's storage driver");
}

function runtimeCheck(info: JsonReader): Check {
  const names = info.at("Runtimes").keys();
  const runtimes = names.filter((name) => !name.startsWith("io.containerd.")).toSorted();
  const remedy = "install runc (apt-get install runc) and name it in the engine's runtimes; restart the engine";
  if (runtimes.length === 0) return failing("runtime", "the engine has no runtime", remedy);
  return passed("runtime", `${runtimes.join(", ")}; set-up uses ${setUpRuntime({ runtimes })}`);
}

function systemCheck(info: JsonReader, api: string): Check {
  const [version, os] = [info.text("ServerVersion") ?? "unknown", info.text("OSType") ?? "unknown"];
  const seen = `${version} (API ${api}) on ${os}`;
  if (os !== "linux" || info.number("NCPU") === null || info.number("MemTotal") === null) {
    return failing("engine_version", seen, "use a Docker Engine on Linux that tells its cores and its memory");
  }
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const old = major < 20 || (major === 20 && minor < 10);
  if (!old) return passed("engine_version", seen);
  return failing("engine_version", seen, `use Docker Engine ${ENGINE_OLDEST} or newer`);
}

/** What an engine that answers says of itself, judged. Pure. */
export function judgeInfo(info: JsonReader, api: string): Check[] {
  return [
    systemCheck(info, api),
    ...[limitsCheck, seccompCheck, storageCheck, runtimeCheck].map((judge) => judge(info)),
  ];
}

export async function lookAtEngine(socketPath: string): Promise<EngineLook> {
  const connection = createEngineConnection(socketPath);
  const call = { method: "GET", path: "/info", deadline_ms: TIMES.engine_call_ms, idempotent: true } as const;
  const reply = await connection.ask(call);
  if (reply.kind === "failed") return { checks: [judgeSilence(reply.failure, socketPath)], connection, info: null };
  const info = reader(reply.value);
  const checks = [
    passed("engine", `answers at ${socketPath}`),
    ...judgeInfo(info, connection.apiVersion() ?? "unknown"),
  ];
  return { checks, connection, info };
}
