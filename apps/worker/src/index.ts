export { type HostLimits, hostLimits, type WallMet } from "./boot/host-limits.js";
export { isAllowed, StartRefused } from "./boot/start-checks.js";
export { engineSocketOf, readWorkerConfig, WORKER_SECRETS, type WorkerConfig, workerConfigSchema } from "./config.js";
export { parsePinnedKeys } from "./pool/pinned-keys.js";
export { type RetainOptions, type RetainReport, retainOnce } from "./supervisor/retain-once.js";
export { type RunningSupervisor, type SupervisorOptions, startSupervisor } from "./supervisor/supervisor.js";
export { type RunningWorker, startWorker, type WorkerOptions } from "./worker.js";
