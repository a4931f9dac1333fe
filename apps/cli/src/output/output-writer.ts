import type { LogBody, StreamItem, StreamName } from "@holdfast/contract";
import type { Console } from "./console.js";

/** Writes a task's live output byte for byte, and knows what of it never came. */
export interface OutputWriter {
  accept(item: StreamItem): Promise<void>;
  /** What is to be said when the task has ended; empty where every byte was written. */
  losses(totals: Readonly<Record<StreamName, number>>): string[];
}

const bytesOf = (log: LogBody): Buffer => Buffer.from(log.data, log.encoding === "base64" ? "base64" : "utf8");

export function createOutputWriter(console: Pick<Console, "write">): OutputWriter {
  const written: Record<StreamName, number> = { stdout: 0, stderr: 0 };

  return {
    accept: async (item) => {
      if (item.kind !== "task_log") return;
      const bytes = bytesOf(item);
      written[item.stream] += bytes.length;
      await console.write(item.stream, bytes);
    },
    losses: (totals) =>
      (["stdout", "stderr"] as const).flatMap((stream) => {
        const lost = totals[stream] - written[stream];
        return lost > 0 ? [`${lost} bytes of ${stream} are not shown: more came than the event stream keeps`] : [];
      }),
  };
}
