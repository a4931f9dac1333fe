export { HoldfastError } from "@holdfast/contract";
export type { OutcomeOptions } from "./await-outcome.js";
export type { Cancelled } from "./cancel.js";
export * from "./client.js";
export type { ScopeRef } from "./limits.js";
export type { TaskFilter, TaskList } from "./list-tasks.js";
export * from "./render-outcome.js";
export type { Submitted } from "./submit.js";
export type { TaskRef } from "./task-names.js";
