import { type DutyDeps, startDuty } from "@holdfast/chassis";
import type { DataFolder } from "../data-folder/data-folder.js";
import { openPrivateRedis, type PrivateRedis } from "../data-folder/private-redis.js";

export interface RedisKeeper {
  /** Looks no more, and ends the server with its data on disk. */
  stop(): Promise<void>;
}

const LOOK_MS = 500;

/** Starts the private Redis again, on its port and its data, whenever it is gone. */
export function keepRedis(folder: DataFolder, first: PrivateRedis, path: string, deps: DutyDeps): RedisKeeper {
  let redis = first;
  const duty = startDuty(
    {
      name: "private_redis",
      every_ms: LOOK_MS,
      runOnce: async () => {
        if (redis.isRunning()) return { started: 0 };
        deps.logger.error("private_redis_gone", { pid: redis.pid });
        redis = await openPrivateRedis(folder, { path, may_move: false });
        deps.logger.info("private_redis_started", { pid: redis.pid });
        return { started: 1 };
      },
    },
    deps,
  );
  return {
    stop: async () => {
      await duty.stop();
      await redis.stop();
    },
  };
}
