export * from "./clock.js";
export * from "./duty.js";
export * from "./health-server.js";
export * from "./load-config.js";
export * from "./logger.js";
export * from "./metrics.js";
export * from "./run-program.js";
export * from "./wait.js";
