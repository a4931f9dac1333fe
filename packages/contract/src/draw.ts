/** Draws new ids: 96 random bits behind a prefix that names the kind. */
import { randomBytes } from "node:crypto";
import type { BootId, FleetId, HostId, OwnerToken, SandboxId, TaskId } from "./ids.js";

function draw(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString("hex")}`;
}

export const drawTaskId = (): TaskId => draw("task") as TaskId;
export const drawFleetId = (): FleetId => draw("fleet") as FleetId;
export const drawHostId = (): HostId => draw("host") as HostId;
export const drawBootId = (): BootId => draw("boot") as BootId;
export const drawSandboxId = (): SandboxId => draw("sbx") as SandboxId;
export const drawOwnerToken = (): OwnerToken => draw("own") as OwnerToken;
/** A request id, new for each call of a script, the same when that call is sent again. */
export const drawRequestId = (): string => draw("req");
