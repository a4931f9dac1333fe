import type { RunningWorker } from "@holdfast/worker";

/** The host of a worker, as its ready line names it. */
export function hostWords({ host_id, host_draining }: Pick<RunningWorker, "host_id" | "host_draining">): string {
  if (!host_draining) return `host ${host_id}`;
  return `host ${host_id} (drained: it takes no tasks until \`holdfast undrain ${host_id}\`)`;
}
