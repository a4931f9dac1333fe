export { boundedCall } from "./bounded-call.js";
export * from "./heal-delivery.js";
export { deriveTaskId, jobIdOf } from "./job-codec.js";
export { openTaskQueue } from "./open-task-queue.js";
export * from "./task-queue.js";
