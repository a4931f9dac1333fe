/** Upper bounds of design.md §13. Byte counts are of the UTF-8 or decoded form. */
const KIB = 1024;
const MIB = 1024 * KIB;

export const BOUNDS = {
  /** Linux refuses a single argument or environment string of 128 KiB or more. */
  argument_bytes_max: 128 * KIB - 1,
  arguments_total_bytes_max: MIB,
  env_value_bytes_max: 64 * KIB,
  env_total_bytes_max: 256 * KIB,
  files_max: 256,
  files_total_bytes_max: 8 * MIB,
  stdin_bytes_max: 8 * MIB,
  body_bytes_max: 24 * MIB,
  timeout_seconds_max: 86_400,
  queue_timeout_seconds_max: 86_400,
  attempts_max: 10,
  pending_bodies_bytes_max: 256 * MIB,
  path_bytes_max: 4096,
  path_segment_bytes_max: 255,
  labels_max: 32,
  label_bytes_max: 256,
  /** Kept per stream in an outcome: half from the head, half from the tail. */
  outcome_stream_bytes_max: MIB,
  /** All events of one task. */
  stream_bytes_max: 8 * MIB,
  summary_characters_max: 300,
  /** What a boot may say of its pool, as JSON. */
  pool_report_bytes_max: 8 * KIB,
} as const;

/** Below these no sandbox starts: the request is refused with RESOURCES_TOO_SMALL before anything runs. */
export const RESOURCES_MIN = { cpu: 0.05, memory_mb: 16, disk_mb: 1, pids_limit: 4 } as const;

/** The language image that ./scripts/setup provides: what is meant where no image is named. */
export const DEFAULT_IMAGE = "holdfast/python:3.11-1";

/** Added to memory_mb and disk_mb for the agent, /tmp and /dev/shm; the sum is what is reserved. */
export const MEMORY_OVERHEAD_MB = 128;
/** Processes of ours inside a sandbox, above the caller's pids_limit. */
export const PIDS_OVERHEAD = 2;
