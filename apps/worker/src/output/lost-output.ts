/** Output whose append was given up: its size is told by the next event of its stream (every drop is counted). */
import { type AppendBody, STREAM_NAMES, type StreamName } from "@holdfast/contract";

export interface LostOutput {
  /** Takes bodies that will never be stored; returns their bytes. */
  take(bodies: readonly AppendBody[]): number;
  /** The same bodies, the first of each stream bearing what was lost before it. */
  addTo(bodies: readonly AppendBody[]): AppendBody[];
  /** Bodies without data for what no later event has told. */
  rest(): AppendBody[];
}

export function createLostOutput(): LostOutput {
  const lost: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  return {
    take: (bodies) => {
      let sum = 0;
      for (const body of bodies) {
        if (body.kind !== "task_log") continue;
        lost[body.stream] += body.bytes + body.dropped_bytes;
        sum += body.bytes;
      }
      return sum;
    },
    addTo: (bodies) =>
      bodies.map((body) => {
        if (body.kind !== "task_log" || lost[body.stream] === 0) return body;
        const dropped_bytes = body.dropped_bytes + lost[body.stream];
        lost[body.stream] = 0;
        return { ...body, dropped_bytes };
      }),
    rest: () =>
      STREAM_NAMES.filter((stream) => lost[stream] > 0).map((stream) => ({
        kind: "task_log",
        stream,
        encoding: "utf8",
        data: "",
        bytes: 0,
        dropped_bytes: 0,
      })),
  };
}
