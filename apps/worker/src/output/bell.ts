import { pause } from "@holdfast/chassis";

/** Many may wait for it, a time at most; one rings. */
export interface Bell {
  ring(): void;
  wait(ms: number): Promise<void>;
}

export function createBell(): Bell {
  let ring: () => void = () => {};
  let rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return {
    ring: () => {
      ring();
      rung = new Promise((resolve) => {
        ring = resolve;
      });
    },
    wait: (ms) => {
      const abort = new AbortController();
      return Promise.race([rung, pause(ms, abort.signal)]).finally(() => abort.abort());
    },
  };
}
