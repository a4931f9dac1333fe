import type { RunningWorker } from "@holdfast/worker";

/** The host of a worker, as its ready line names it. */
export function hostWords(worker: Pick<RunningWorker, "host_id" | "host_draining" | "failed_checks">): string {
  const { host_id, host_draining, failed_checks } = worker;
  const drained = host_draining ? [`drained: it takes no tasks until \`holdfast undrain ${host_id}\``] : [];
  const unfit = `unfit: it takes no tasks until its self-check passes; failed: ${failed_checks.join(", ")}`;
  const notes = [...drained, ...(failed_checks.length > 0 ? [unfit] : [])];
  return notes.length === 0 ? `host ${host_id}` : `host ${host_id} (${notes.join("; ")})`;
}
