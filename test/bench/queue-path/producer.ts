/** A producer of tasks, as a backend service would be. */
import { openClient } from "@holdfast/client";
import { NOOP_IMAGE } from "./noop-engine.js";
import { readPlace, serveBatches, workspaceOf } from "./place.js";

const { redis_url, prefix, queue_prefix } = readPlace();
const client = await openClient({ redis_url, prefix, queue_prefix, fail_fast_ms: 60_000 });
serveBatches(
  (n, batch) =>
    client.submit({
      image: NOOP_IMAGE,
      command: ["true"],
      workspace_id: workspaceOf(n, batch),
      task_id: `${batch.name}_${n}`,
    }),
  () => client.close(),
);
