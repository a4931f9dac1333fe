/**
 * Anyone may put a job of half a gigabyte on a queue. What a fetch brings is cut in Redis, since a long text would fill
 * this process and stop its event loop before anything here could look at it.
 */
import { readFileSync } from "node:fs";
import { BOUNDS } from "@holdfast/contract";
import type { QueueConnection } from "./fetching-worker.js";

/** Of a job's name, options and whatever else it has beside its data, each. */
const REST_BYTES_MAX = 1024 * 1024;

const WITHIN_BOUNDS = readFileSync(new URL("../scripts/job-within-bounds.lua", import.meta.url), "utf8");
const VALUES = `local DATA_BYTES_MAX, REST_BYTES_MAX = ${BOUNDS.body_bytes_max}, ${REST_BYTES_MAX}`;
const WHOLE_JOB = 'rcall("HGETALL", jobKey)';
/** BullMQ's scripts that hand a job to a worker, by the names it gives them on a connection. */
export const FETCHES = /^(moveToActive|moveToDelayed|moveToFinished):/;

/** From now on each job that BullMQ fetches by this connection is within bounds. Call it before BullMQ has seen it. */
export function boundFetches(connection: QueueConnection): void {
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) => {
    const lua = FETCHES.test(name) ? withinBounds(definition.lua) : definition.lua;
    return define(name, { ...definition, lua });
  };
}

/** The script with its one read of a whole job replaced. Throws where a version of BullMQ reads it otherwise. */
export function withinBounds(script: string): string {
  const [before, after, ...more] = script.split(WHOLE_JOB);
  if (after === undefined || more.length > 0) throw new Error("This version of BullMQ reads a job in an unknown way.");
  return `${VALUES}\n${WITHIN_BOUNDS}\n${before}job_within_bounds(jobKey)${after}`;
}
