/** The crash points of a task's life in its worker: before a request has left, or after it was applied. */
import { holdReply, holdRequest, type Rule, type Selector } from "./proxy.js";
import type { LabWorker } from "./worker.js";

export interface Phase {
  readonly line: "redis" | "engine";
  readonly selector: Selector;
  readonly hold: "request" | "reply";
}

const at = (line: Phase["line"], hold: Phase["hold"], selector: Selector): Phase => ({ line, selector, hold });
export const PHASES: readonly (readonly [string, Phase])[] = [
  ["before admit", at("redis", "request", { script: "task-admit" })],
  ["after admit", at("redis", "reply", { script: "task-admit" })],
  ["before create", at("engine", "request", { command: "POST", path: /\/create$/ })],
  ["after create", at("engine", "reply", { command: "POST", path: /\/create$/ })],
  ["before start", at("engine", "request", { command: "POST", path: /\/start$/ })],
  ["after start", at("engine", "reply", { command: "POST", path: /\/start$/ })],
  ["before activate", at("redis", "request", { script: "task-activate" })],
  ["after activate", at("redis", "reply", { script: "task-activate" })],
  ["before settle", at("redis", "request", { script: "task-settle" })],
  ["after settle", at("redis", "reply", { script: "task-settle" })],
  ["before remove", at("engine", "request", { command: "DELETE" })],
  ["before release", at("redis", "request", { script: "task-release" })],
  ["after release", at("redis", "reply", { script: "task-release" })],
];

/** Holds the worker there, the next time it comes by. */
export function holdAt(worker: LabWorker, { line, selector, hold }: Phase): Rule {
  return worker[line].on(selector, hold === "request" ? holdRequest() : holdReply());
}
