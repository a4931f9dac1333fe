/** Bounds how much of one kind is under way at once; engines lose speed beyond a few at a time. */
export interface Lane {
  /** Runs `work` once there is room: urgent work before other work, else in the order of asking. */
  run<T>(work: () => Promise<T>, urgent?: boolean): Promise<T>;
}

/** `yields_after_ms`: work that takes longer gives up its place, so that calls which hang never block the lane. */
export function createLane(max: number, yields_after_ms?: number): Lane {
  const urgentWaiters: (() => void)[] = [];
  const otherWaiters: (() => void)[] = [];
  let running = 0;

  function next(): void {
    const start = urgentWaiters.shift() ?? otherWaiters.shift();
    if (start === undefined) running -= 1;
    else start();
  }

  function enter(urgent: boolean): Promise<void> {
    if (running < max) {
      running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => (urgent ? urgentWaiters : otherWaiters).push(resolve));
  }

  return {
    async run(work, urgent = true) {
      await enter(urgent);
      let leave = (): void => {
        leave = () => {};
        next();
      };
      const timer = yields_after_ms === undefined ? undefined : setTimeout(() => leave(), yields_after_ms);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        leave();
      }
    },
  };
}

const REMOVALS_MAX = 3;
/** Removals that hang must not hold up the others: they cost the engine nothing while they do. */
const REMOVAL_YIELDS_MS = 15_000;

export function removalLane(max: number = REMOVALS_MAX): Lane {
  return createLane(max, REMOVAL_YIELDS_MS);
}
