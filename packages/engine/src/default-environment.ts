/** The environment every sandbox starts from: the image's ENV, over it ours, over that the request's. */
import type { Resources } from "@holdfast/contract";

/** Used where the image sets none; an image that does knows best where its programs lie. */
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Ours alone: UTF-8, no buffering, no bytecode files, writable homes on tmpfs, one thread for each core granted. */
export function defaultEnvironment(resources: Resources): Record<string, string> {
  // Numeric libraries would start one thread for each core of the host and run into pids_limit.
  const threads = String(Math.max(1, Math.floor(resources.cpu)));
  return {
    PATH,
    HOME: "/workspace",
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    PYTHONUTF8: "1",
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
    MPLCONFIGDIR: "/tmp",
    MPLBACKEND: "Agg",
    OMP_NUM_THREADS: threads,
    OPENBLAS_NUM_THREADS: threads,
    MKL_NUM_THREADS: threads,
    NUMEXPR_NUM_THREADS: threads,
    GOMAXPROCS: threads,
  };
}

/** `NAME=value` entries of an image as a record; what is no entry is left out. */
export function parseImageEnvironment(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]);
  return Object.fromEntries(pairs.filter(([name]) => name !== ""));
}

export function sandboxEnvironment(
  imageEnvironment: Readonly<Record<string, string>>,
  resources: Resources,
): Record<string, string> {
  const path = imageEnvironment["PATH"];
  return { ...imageEnvironment, ...defaultEnvironment(resources), ...(path ? { PATH: path } : {}) };
}
