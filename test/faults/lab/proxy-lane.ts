/** One direction of a connection: pieces are worked on strictly in order, each as long as it takes. */

export class Lane {
  private tail: Promise<void> = Promise.resolve();
  private stopped = false;
  private queued = 0;
  private readonly failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.failed = failed;
  }

  /** Bytes that wait or are worked on. */
  get bytes(): number {
    return this.queued;
  }

  push(bytes: number, work: () => Promise<void> | void): void {
    this.queued += bytes;
    this.tail = this.tail.then(async () => {
      try {
        if (!this.stopped) await work();
      } catch (error) {
        if (!this.stopped) this.failed(error);
      } finally {
        this.queued -= bytes;
      }
    });
  }

  /** Nothing that has not begun begins any more. */
  stop(): void {
    this.stopped = true;
  }
}
