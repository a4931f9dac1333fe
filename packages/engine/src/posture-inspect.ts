/** Holds the engine's own account of a running container to its spec. Closed: an unknown setting is a deviation. */
import { type Check, deviationsOf, isNeutral } from "./closed-match.js";
import { LABELS } from "./container-name.js";
import { AGENT_DIRECTORY, type ContainerSpec } from "./container-spec.js";

/** What every engine since 20.10 hides; setting a list of our own would replace the engine's longer one. */
const MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/scsi", "/sys/firmware"];
const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

const holds =
  (wanted: readonly string[]): Check =>
  (value) =>
    Array.isArray(value) && wanted.every((item) => value.includes(item));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    value === undefined || values.includes(value);

const isNone: Check = (value) => Array.isArray(value) && value.join() === "NONE";

const anything: Check = () => true;

function sameSet(expected: readonly string[]): Check {
  return (value) =>
    Array.isArray(value) && value.length === expected.length && expected.every((item) => value.includes(item));
}

/** Labels of the image may stand beside ours; none of them may look like ours. */
function labelsMatch(expected: Readonly<Record<string, string>>): Check {
  return (value) => {
    if (!isRecord(value)) return false;
    const ours = Object.keys(value).filter((key) => key.startsWith("holdfast."));
    return ours.length === Object.keys(LABELS).length && ours.every((key) => value[key] === expected[key]);
  };
}

function exceptionsOf(spec: ContainerSpec): Readonly<Record<string, Check>> {
  return {
    // /dev/shm is ours and sized in Tmpfs; this is the size of the mount it replaced.
    "HostConfig.ShmSize": (value) => typeof value === "number",
    "HostConfig.MaskedPaths": holds(MASKED),
    "HostConfig.ReadonlyPaths": holds(READ_ONLY),
    "HostConfig.Isolation": oneOf("", "default"),
    ...("MemorySwappiness" in spec.HostConfig ? {} : { "HostConfig.MemorySwappiness": oneOf(null, -1, 0) }),
    "Config.Env": sameSet(spec.Env),
    "Config.Labels": labelsMatch(spec.Labels),
    // Engines fill in the image's intervals beside NONE; they time nothing.
    "Config.Healthcheck": (value) => isRecord(value) && isNone(value["Test"]),
    // Left over from the image, without effect: nothing listens on a network that is not there.
    "Config.ExposedPorts": anything,
    "Config.Shell": anything,
    "Config.OnBuild": anything,
    "Config.ArgsEscaped": anything,
    // The profile of the distribution, the engine's, or none where the host has no AppArmor; never lifted.
    AppArmorProfile: (value) => typeof value === "string" && !/unconfined/.test(value),
    "State.Pid": (value) => typeof value === "number" && value > 0,
    "State.StartedAt": anything,
    "State.FinishedAt": anything,
    "State.Status": oneOf("running"),
  };
}

function mountDeviations(spec: ContainerSpec, mounts: unknown): string[] {
  const [wanted] = spec.HostConfig.Mounts;
  const [found, ...more] = Array.isArray(mounts) ? mounts : [];
  const fits =
    more.length === 0 &&
    isRecord(found) &&
    found["Type"] === "volume" &&
    found["Name"] === wanted?.Source &&
    found["Destination"] === AGENT_DIRECTORY &&
    found["RW"] === false;
  return fits ? [] : ["Mounts"];
}

function networkDeviations(settings: unknown): string[] {
  const networks = isRecord(settings) ? settings["Networks"] : null;
  const names = isRecord(networks) ? Object.keys(networks) : [];
  const address = isRecord(settings)
    ? [settings["IPAddress"], settings["GlobalIPv6Address"], settings["Ports"]]
    : ["?"];
  return names.join() === "none" && address.every(isNeutral) ? [] : ["NetworkSettings"];
}

/** Names of the settings that are not as asked for; empty where the engine's account is the spec's. */
export function inspectDeviations(spec: ContainerSpec, name: string, inspect: unknown): string[] {
  if (!isRecord(inspect)) return ["inspect"];
  const { HostConfig, ...config } = spec;
  const excepted = exceptionsOf(spec);
  const state = { Running: true, Paused: false, Restarting: false, OOMKilled: false, Dead: false, ExitCode: 0 };
  const top: Record<string, unknown> = {
    Name: `/${name}`,
    Image: spec.Image,
    Path: spec.Entrypoint[0],
    Args: spec.Cmd,
    RestartCount: 0,
    Platform: "linux",
    MountLabel: undefined,
    ExecIDs: undefined,
    AppArmorProfile: "",
  };
  return [
    ...deviationsOf(HostConfig, inspect["HostConfig"], "HostConfig", excepted),
    ...deviationsOf(config, inspect["Config"], "Config", excepted),
    ...deviationsOf(state, inspect["State"], "State", excepted),
    ...Object.keys(top).flatMap((key) => deviationsOf(top[key], inspect[key], key, excepted)),
    ...mountDeviations(spec, inspect["Mounts"]),
    ...networkDeviations(inspect["NetworkSettings"]),
  ];
}
