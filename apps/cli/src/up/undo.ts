/** What was started, ended in reverse. */
export interface Undo {
  add(step: () => Promise<void> | void): void;
  /** Runs every step once, also after one that failed; then throws the first failure. */
  run(): Promise<void>;
}

export function createUndo(): Undo {
  const steps: (() => Promise<void> | void)[] = [];
  return {
    add: (step) => void steps.push(step),
    run: async () => {
      const failures: unknown[] = [];
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
