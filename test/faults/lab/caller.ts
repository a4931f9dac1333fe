/** A caller's process of its own, and what it printed. */
import { join } from "node:path";
import { type LabFleet, PREFIX, QUEUE_PREFIX } from "./fleet.js";
import { type LabProcess, startProcess } from "./processes.js";

const PROGRAM = join(import.meta.dirname, "caller-program.mjs");

export interface CallerOrder {
  readonly op: "submit" | "read" | "late";
  readonly [field: string]: unknown;
}

export function startCaller({ redis }: LabFleet, order: CallerOrder): Promise<LabProcess> {
  const args = [PROGRAM, redis.url, PREFIX, QUEUE_PREFIX, JSON.stringify(order)];
  return startProcess({ name: `caller ${order.op}`, command: process.execPath, args });
}

/** Waits for its end, and insists that it was a good one. */
export async function saidBy<Said>(caller: LabProcess): Promise<Said[]> {
  await caller.silent;
  const { code } = await caller.ended;
  if (code !== 0) throw new Error(`${caller.name} ended with ${code}: ${caller.lines.slice(-5).join(" | ")}`);
  return caller.lines.map((line) => JSON.parse(line) as Said);
}
