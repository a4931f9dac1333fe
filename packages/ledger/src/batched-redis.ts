import { Redis } from "ioredis";

/**
 * A connection that writes what is sent in one turn of the loop as one piece: a worker with many tasks under way then
 * costs one write and one read where it would cost one of each for every command. Nothing waits for more to come.
 */
export class BatchedRedis extends Redis {
  override sendCommand(...sent: Parameters<Redis["sendCommand"]>): unknown {
    const { stream } = this;
    if (stream === undefined || stream.writableCorked > 0) return super.sendCommand(...sent);
    stream.cork();
    process.nextTick(() => stream.uncork());
    return super.sendCommand(...sent);
  }
}
