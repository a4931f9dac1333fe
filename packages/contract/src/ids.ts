/**
 * The id grammar and one branded type for each kind of id.
 * A branded string was parsed here (or drawn in draw.ts); nothing else may cast to it.
 */
import { z } from "zod";

const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const BARE_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_]{0,63}$/;
const GRAMMAR = "1 to 64 of A-Z a-z 0-9 _ -, starting with a letter or digit, not digits only";

const id = z
  .string()
  .regex(ID_PATTERN, `must be ${GRAMMAR}`)
  .refine((text) => !/^[0-9]+$/.test(text), `must be ${GRAMMAR}`);

/** Ids that become part of a container's name carry no `-`, which separates the parts there. */
const bareId = z
  .string()
  .regex(BARE_ID_PATTERN, "must be 1 to 64 of A-Z a-z 0-9 _, starting with a letter or digit")
  .refine((text) => !/^[0-9]+$/.test(text), "must not be digits only");

export const workspaceIdSchema = id.brand<"WorkspaceId">();
export const taskIdSchema = id.brand<"TaskId">();
export const sessionIdSchema = id.brand<"SessionId">();
export const fleetIdSchema = bareId.brand<"FleetId">();
export const hostIdSchema = bareId.brand<"HostId">();
export const bootIdSchema = bareId.brand<"BootId">();
export const sandboxIdSchema = bareId.brand<"SandboxId">();
export const ownerTokenSchema = bareId.brand<"OwnerToken">();
/** Fencing token as a decimal string: it has 16 digits and must never pass through a float's printing. */
export const fenceSchema = z
  .string()
  .regex(/^[1-9][0-9]{0,19}$/, "must be a decimal number")
  .brand<"Fence">();

/** First part of every key of one fleet in a Redis that others may use too. */
export const keyPrefixSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, _ or -");

export type WorkspaceId = z.infer<typeof workspaceIdSchema>;
export type TaskId = z.infer<typeof taskIdSchema>;
export type SessionId = z.infer<typeof sessionIdSchema>;
export type FleetId = z.infer<typeof fleetIdSchema>;
export type HostId = z.infer<typeof hostIdSchema>;
export type BootId = z.infer<typeof bootIdSchema>;
export type SandboxId = z.infer<typeof sandboxIdSchema>;
export type OwnerToken = z.infer<typeof ownerTokenSchema>;
export type Fence = z.infer<typeof fenceSchema>;

/** A task's full name: its id is unique in its workspace only. */
export interface TaskName {
  readonly workspace_id: WorkspaceId;
  readonly task_id: TaskId;
}

/** Orders two fences: negative, zero or positive. By length, then by bytes, as Lua compares them. */
export function compareFences(left: Fence, right: Fence): number {
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}
