/** Meaning of the agent's frames. Nothing here trusts them: a frame is understood or refused, and nothing throws. */
import {
  byeSchema,
  type Exited,
  exitedSchema,
  failedSchema,
  type Hello,
  helloSchema,
  pulseSchema,
  startedSchema,
  stdinCreditSchema,
  type TreeReceipt,
  treeReceiptSchema,
} from "@holdfast/contract";
import {
  AGENT_FRAME,
  type AgentFrameName,
  FRAME_PAYLOAD_BYTES_MAX,
  type Frame,
  type FrameError,
  PROGRESS_LINE_BYTES_MAX,
} from "./frames.js";
import { parseUntrustedJson } from "./untrusted-json.js";

/** Control frames of the agent but hello are small. */
const CONTROL_BYTES_MAX = 65_536;

export type AgentFrame =
  | { readonly kind: "hello"; readonly id: number; readonly body: Hello }
  | { readonly kind: "pulse"; readonly id: number; readonly body: { readonly t0_ms: number } }
  | { readonly kind: "started"; readonly id: number; readonly body: { readonly pid: number } }
  | { readonly kind: "exited"; readonly id: number; readonly body: Exited }
  | { readonly kind: "tree"; readonly id: number; readonly body: TreeReceipt }
  | { readonly kind: "failed"; readonly id: number; readonly body: { readonly errno: string; readonly detail: string } }
  | { readonly kind: "bye"; readonly id: number; readonly body: { readonly reason: string } }
  | { readonly kind: "stdin_credit"; readonly id: number; readonly body: { readonly bytes: number } }
  | { readonly kind: "stdout" | "stderr" | "progress"; readonly id: number; readonly data: Buffer }
  | { readonly kind: "assigned" | "file_done" | "pong"; readonly id: number };

export type ReadFrame =
  | { readonly kind: "frame"; readonly frame: AgentFrame }
  | { readonly kind: "refused"; readonly error: FrameError };

/** The part of a zod schema that is used here; zod itself is named only in the contract. */
interface Schema<T> {
  safeParse(input: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}

type Body<T> = { readonly body: T } | { readonly error: FrameError };

function readBody<T>(payload: Buffer, schema: Schema<T>, bytes_max = CONTROL_BYTES_MAX): Body<T> {
  if (payload.length > bytes_max) return { error: "bad_field" };
  const parsed = parseUntrustedJson(payload);
  if (parsed.kind === "refused") return { error: "bad_json" };
  const checked = schema.safeParse(parsed.value);
  return checked.success ? { body: checked.data } : { error: "bad_field" };
}

type BodyKind = Extract<AgentFrame, { readonly body: unknown }>["kind"];

const BODY_SCHEMAS: { readonly [kind in BodyKind]: Schema<Extract<AgentFrame, { readonly kind: kind }>["body"]> } = {
  hello: helloSchema,
  pulse: pulseSchema,
  started: startedSchema,
  exited: exitedSchema,
  tree: treeReceiptSchema,
  failed: failedSchema,
  bye: byeSchema,
  stdin_credit: stdinCreditSchema,
};

const NAMES: ReadonlyMap<number, AgentFrameName> = new Map(
  Object.entries(AGENT_FRAME).map(([name, code]) => [code, name as AgentFrameName]),
);

function readJsonFrame(kind: BodyKind, { id, payload }: Frame): ReadFrame {
  const read = readBody<unknown>(payload, BODY_SCHEMAS[kind], kind === "hello" ? FRAME_PAYLOAD_BYTES_MAX : undefined);
  if ("error" in read) return { kind: "refused", error: read.error };
  return { kind: "frame", frame: { kind, id, body: read.body } as AgentFrame };
}

/** Understands one frame of the agent. Bytes of a data frame are passed on as they came. */
export function readAgentFrame(frame: Frame): ReadFrame {
  const { id, payload } = frame;
  const name = NAMES.get(frame.type);
  switch (name) {
    case undefined:
      return { kind: "refused", error: "unknown_type" };
    case "stdout":
    case "stderr":
      return { kind: "frame", frame: { kind: name, id, data: payload } };
    case "progress":
      if (payload.length > PROGRESS_LINE_BYTES_MAX) return { kind: "refused", error: "bad_field" };
      return { kind: "frame", frame: { kind: name, id, data: payload } };
    case "assigned":
    case "file_done":
    case "pong":
      if (payload.length > 0) return { kind: "refused", error: "bad_field" };
      return { kind: "frame", frame: { kind: name, id } };
    default:
      return readJsonFrame(name, frame);
  }
}
