import { defineConfig } from "vitest/config";

/** `holdfast-source` makes a package resolve to its TypeScript, so tests need no build of it. */
const resolve = { conditions: ["holdfast-source"] };
const ssr = { resolve: { conditions: ["holdfast-source", "node", "import", "module", "default"] } };

/**
 * Files of these projects share one engine and one Redis, each with a fleet of its own. They mostly wait for leases and
 * for the engine, so that three run at once on two cores; those of e2e start programs all the time, and two do.
 */
const outside = {
  globalSetup: ["test/support/world.ts"],
  maxWorkers: 3,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  retry: 0,
};

/** Bound to the processor alone: a busy machine takes ten times as long as a quiet one. */
const inside = { testTimeout: 30_000, retry: 0 };

export default defineConfig({
  test: {
    projects: [
      { resolve, ssr, test: { name: "house", include: ["test/house/**/*.test.ts"], ...inside } },
      {
        resolve,
        ssr,
        test: { name: "unit", include: ["packages/*/src/**/*.test.ts", "apps/*/src/**/*.test.ts"], ...inside },
      },
      { resolve, ssr, test: { name: "integration", include: ["test/integration/**/*.test.ts"], ...outside } },
      { resolve, ssr, test: { name: "faults", include: ["test/faults/**/*.test.ts"], ...outside } },
      { resolve, ssr, test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], ...outside, maxWorkers: 2 } },
    ],
  },
});
