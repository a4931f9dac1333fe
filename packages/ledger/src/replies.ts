/**
 * Narrow parsers of what scripts answer: tagged arrays of strings. An answer of another shape is a defect of ours
 * and throws; nothing is guessed.
 */
import {
  AMOUNT_KEYS,
  type Amount,
  HoldfastError,
  type Outcome,
  outcomeSchema,
  type TaskName,
  taskIdSchema,
  workspaceIdSchema,
} from "@holdfast/contract";
import type { Delivery, Promotion } from "./ledger.js";

export type Reply = string | number | null | readonly Reply[];

function wrong(what: string, seen: unknown): HoldfastError {
  return new HoldfastError("INTERNAL", { message: `a script answered ${JSON.stringify(seen)} in place of ${what}` });
}

export function list(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw wrong("a list", reply);
}

export function text(reply: Reply | undefined): string {
  if (typeof reply === "string") return reply;
  throw wrong("text", reply);
}

export function texts(reply: Reply | undefined): string[] {
  return list(reply).map(text);
}

export function whole(reply: Reply | undefined): number {
  const value = typeof reply === "string" && /^-?[0-9]{1,16}$/.test(reply) ? Number(reply) : reply;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw wrong("a whole number", reply);
}

/** The tag of a reply, which must be one of those named. */
export function tagOf<const Tag extends string>(reply: Reply, tags: readonly Tag[]): Tag {
  const tag = text(list(reply)[0]);
  const known = tags.find((name) => name === tag);
  if (known === undefined) throw wrong(tags.join(" | "), reply);
  return known;
}

/** Splits a flat list into rows. */
export function rowsOf(reply: Reply | undefined, width: number): Reply[][] {
  const flat = list(reply);
  if (flat.length % width !== 0) throw wrong(`rows of ${width}`, reply);
  return Array.from({ length: flat.length / width }, (_, row) => flat.slice(row * width, (row + 1) * width));
}

export function nameOf(workspace: Reply | undefined, task: Reply | undefined): TaskName {
  return { workspace_id: workspaceIdSchema.parse(workspace), task_id: taskIdSchema.parse(task) };
}

export function promotionsOf(reply: Reply | undefined): Promotion[] {
  return list(reply).map((entry) => {
    const [workspace, task, queue, job] = list(entry);
    return { ...nameOf(workspace, task), queue: text(queue), job_id: text(job) };
  });
}

export function deliveryOf(name: TaskName, reply: readonly Reply[]): Delivery {
  const [delivery, queue, job] = reply;
  const { workspace_id, task_id } = name;
  return { workspace_id, task_id, delivery: whole(delivery), queue: text(queue), job_id: text(job) };
}

export function outcomeOf(reply: Reply | undefined): Outcome {
  return outcomeSchema.parse(JSON.parse(text(reply)));
}

/** `slots,cpu_milli,memory_mb,pids`. */
export function amountOf(reply: Reply | undefined): Amount {
  const numbers = text(reply).split(",").map(whole);
  const [slots, cpu_milli, memory_mb, pids] = numbers;
  if (numbers.length !== AMOUNT_KEYS.length) throw wrong("an amount", reply);
  return { slots: whole(slots), cpu_milli: whole(cpu_milli), memory_mb: whole(memory_mb), pids: whole(pids) };
}

export function amountText(amount: Amount): string {
  return AMOUNT_KEYS.map((key) => amount[key]).join(",");
}
