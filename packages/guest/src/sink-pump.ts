/** Hands pieces to one sink, the next only after the last was taken. */

export interface PumpSource<T> {
  push(piece: T): void;
  shift(): T | null;
  clear(): void;
}

export interface PumpOptions<T> {
  readonly source: PumpSource<T>;
  take(piece: T): Promise<void> | void;
  /** After the sink took it, or after it was dropped because the sink had failed. */
  taken(piece: T): void;
}

export class SinkPump<T> {
  readonly #options: PumpOptions<T>;
  #running = false;
  #failure: { readonly error: unknown } | null = null;
  #stopped = false;
  #waiters: (() => void)[] = [];

  constructor(options: PumpOptions<T>) {
    this.#options = options;
  }

  push(piece: T): void {
    if (this.#stopped) return;
    this.#options.source.push(piece);
    if (!this.#running) void this.#run();
  }

  /** What the sink threw first; later pieces are dropped, so that the command is not blocked by it. */
  get failure(): { readonly error: unknown } | null {
    return this.#failure;
  }

  idle(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Gives the sink nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#options.source.clear();
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let piece = this.#options.source.shift(); piece !== null; piece = this.#options.source.shift()) {
      try {
        if (!this.#failure) await this.#options.take(piece);
      } catch (error) {
        this.#failure = { error };
      }
      if (!this.#stopped) this.#options.taken(piece);
    }
    this.#running = false;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}
