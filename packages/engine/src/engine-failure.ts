/**
 * Why a call to the engine did not succeed: our own closed list, read from status code and body alone.
 * `detail` is the engine's text. It may go into a log; it never reaches a caller.
 */
export type EngineFailure =
  /** No answer in time: whether the call took effect is unknown. */
  | { readonly kind: "deadline"; readonly detail: string }
  /** Nothing listened: the call had no effect. */
  | { readonly kind: "unreachable"; readonly detail: string; readonly errno?: string }
  /** The connection broke under way: whether the call took effect is unknown. */
  | { readonly kind: "dropped"; readonly detail: string }
  | { readonly kind: "not_found"; readonly detail: string }
  | { readonly kind: "name_taken"; readonly detail: string }
  | { readonly kind: "being_removed"; readonly detail: string }
  | { readonly kind: "not_running"; readonly detail: string }
  | { readonly kind: "conflict"; readonly detail: string }
  /** The engine does not take the request as it is. */
  | { readonly kind: "refused"; readonly detail: string }
  /** Our API version is outside of what this engine speaks now. */
  | { readonly kind: "version_mismatch"; readonly detail: string }
  | { readonly kind: "fault"; readonly detail: string }
  /** The answer has not the shape we know. */
  | { readonly kind: "unexpected"; readonly detail: string };

export type EngineReply<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed"; readonly failure: EngineFailure };

export function ok<T>(value: T): EngineReply<T> {
  return { kind: "ok", value };
}

export function failed(failure: EngineFailure): { readonly kind: "failed"; readonly failure: EngineFailure } {
  return { kind: "failed", failure };
}

/** True where the call may have taken effect although no answer came. */
export function isAmbiguous(failure: EngineFailure): boolean {
  return failure.kind === "deadline" || failure.kind === "dropped";
}

/** True where the engine could not be asked at all. */
export function isAway(failure: EngineFailure): boolean {
  return isAmbiguous(failure) || failure.kind === "unreachable";
}

const DETAIL_MAX = 500;
const UNREACHABLE = new Set(["ENOENT", "ECONNREFUSED", "EACCES", "ENOTSOCK", "EAGAIN", "EMFILE", "ENFILE"]);

function textOf(body: unknown): string {
  const message = typeof body === "object" && body !== null && "message" in body ? body.message : body;
  return String(Buffer.isBuffer(message) ? message.toString("utf8") : message).slice(0, DETAIL_MAX);
}

function conflictOf(detail: string): EngineFailure {
  if (/already in progress/i.test(detail)) return { kind: "being_removed", detail };
  if (/already in use/i.test(detail)) return { kind: "name_taken", detail };
  if (/not running/i.test(detail)) return { kind: "not_running", detail };
  return { kind: "conflict", detail };
}

/** Maps an HTTP answer that is not a success. */
export function failureOfStatus(status: number, body: unknown): EngineFailure {
  const detail = textOf(body);
  if (status === 404) return { kind: "not_found", detail };
  if (status === 409) return conflictOf(detail);
  if (status === 400 && /client version .* is too (new|old)/i.test(detail)) return { kind: "version_mismatch", detail };
  if (status >= 500) {
    // Engines of 20.10 answer a second removal and a vanished container with 500 too.
    if (/removal of container .* is already in progress/i.test(detail)) return { kind: "being_removed", detail };
    if (/no such container/i.test(detail)) return { kind: "not_found", detail };
    return { kind: "fault", detail };
  }
  return { kind: "refused", detail };
}

/** Maps an error of the connection itself. */
export function failureOfConnection(error: unknown): EngineFailure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const detail = (error instanceof Error ? error.message : String(error)).slice(0, DETAIL_MAX);
  return UNREACHABLE.has(code) ? { kind: "unreachable", detail, errno: code } : { kind: "dropped", detail };
}

/** The engine could not be asked; the cause tells why. */
export class EngineAway extends Error {
  readonly failure: EngineFailure;
  constructor(failure: EngineFailure) {
    super(`the engine could not be asked: ${failure.kind}`);
    this.name = "EngineAway";
    this.failure = failure;
  }
}

/** Throws EngineAway where there is none. */
export function valueIn<T>(reply: EngineReply<T>): T {
  if (reply.kind === "failed") throw new EngineAway(reply.failure);
  return reply.value;
}
