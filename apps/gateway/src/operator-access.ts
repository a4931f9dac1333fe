/**
 * Who may see the queue board. With a password: whoever knows it. Without one: this machine only, judged by the
 * socket's own address. A request that passed a proxy also comes from loopback, and a page of a rebound name reaches
 * loopback through the operator's browser: both are refused while no password is set.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export const OPERATOR_USER = "operator";

export interface AccessRequest {
  readonly headers: IncomingHttpHeaders;
  /** Address of the peer as the kernel has it; never what a header claims. */
  readonly socket_address: string | undefined;
}

export type Access =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly status: 401 | 403; readonly message: string };

const FORWARDING_HEADERS = ["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via"];

const refused = (status: 401 | 403, message: string): Access => ({ kind: "refused", status, message });

function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const bare = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  return bare === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare);
}

function namesThisMachine(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host);
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Compares digests, so that neither content nor length shows in the time taken. */
function bearsPassword(authorization: string | undefined, password: string): boolean {
  const match = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization ?? "");
  const given = match?.[1] === undefined ? "" : Buffer.from(match[1], "base64").toString("utf8");
  return timingSafeEqual(digest(given), digest(`${OPERATOR_USER}:${password}`));
}

export function judgeAccess(request: AccessRequest, password: string | undefined): Access {
  if (password !== undefined) {
    if (bearsPassword(request.headers.authorization, password)) return { kind: "allowed" };
    return refused(401, `Log in as the user ${OPERATOR_USER} with the operator password.`);
  }
  const remedy = "Set HOLDFAST_OPERATOR_PASSWORD to open the board to others.";
  if (!isLoopback(request.socket_address)) return refused(403, `The board is open on this machine only. ${remedy}`);
  if (FORWARDING_HEADERS.some((name) => request.headers[name] !== undefined)) {
    return refused(403, `The board is not open through a proxy. ${remedy}`);
  }
  if (!namesThisMachine(request.headers.host)) {
    return refused(403, `The board answers to localhost and 127.0.0.1 only. ${remedy}`);
  }
  return { kind: "allowed" };
}
