/**
 * A task request: what a producer sends. Unknown keys are refused, so that a misspelt limit is never ignored.
 * Parsing fills every default; the parsed form is the normalised body whose digest makes accept idempotent.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { BOUNDS } from "./bounds.js";
import { sessionIdSchema, taskIdSchema, workspaceIdSchema } from "./ids.js";
import { workspacePathSchema } from "./paths.js";
import { entriesProblem } from "./request-entries.js";
import { resourcesSchema } from "./resources.js";
import { base64Length, byteLength, clip, hasControlCharacter, hasLoneSurrogate, hasNul } from "./text.js";

const encodingSchema = z.enum(["utf8", "base64"]).default("utf8");

/** What has a form in UTF-8: all else would reach the sandbox as other bytes than were sent, or not at all. */
const unicode = z.string().refine((text) => !hasLoneSurrogate(text), "must be Unicode text");

const argumentSchema = unicode
  .refine((text) => !hasNul(text), "must not contain NUL")
  .refine(
    (text) => byteLength(text) <= BOUNDS.argument_bytes_max,
    `one argument must be less than ${BOUNDS.argument_bytes_max + 1} bytes: pass long text as a file or stdin`,
  );

const fileSchema = z.strictObject({
  path: workspacePathSchema,
  content: unicode,
  encoding: encodingSchema,
  /** Octal permission bits, without set-uid, set-gid or sticky. */
  mode: z
    .string()
    .regex(/^0?[0-7]{3}$/, "must be octal such as 0644")
    .default("0644"),
});

const envSchema = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be a name of letters, digits and _"),
  unicode
    .refine((text) => !hasNul(text), "must not contain NUL")
    .refine(
      (text) => byteLength(text) <= BOUNDS.env_value_bytes_max,
      `must be ${BOUNDS.env_value_bytes_max} bytes at most: pass long values as a file`,
    ),
);

const labelText = unicode
  .min(1)
  .refine((text) => byteLength(text) <= BOUNDS.label_bytes_max, `must be ${BOUNDS.label_bytes_max} bytes at most`)
  .refine((text) => !hasControlCharacter(text), "must not contain control characters");

const imageSchema = z
  .string()
  .min(1)
  .max(512, { abort: true })
  .regex(/^[a-z0-9]+(?:[._/:@-]+[A-Za-z0-9]+)*$/, "must be an image reference such as python:3.12-slim");

const workingDirectorySchema = unicode
  .startsWith("/", "must be an absolute path inside the sandbox")
  .refine((path) => !hasControlCharacter(path), "must not contain control characters")
  .refine((path) => byteLength(path) <= BOUNDS.path_bytes_max, `must be ${BOUNDS.path_bytes_max} bytes at most`);

const requestShape = z.strictObject({
  workspace_id: workspaceIdSchema.default("default" as never),
  task_id: taskIdSchema.optional(),
  image: imageSchema,
  command: z.array(argumentSchema).min(1).max(4096),
  files: z.array(fileSchema).max(BOUNDS.files_max).default([]),
  env: envSchema.default({}),
  stdin: unicode.default(""),
  stdin_encoding: encodingSchema,
  working_directory: workingDirectorySchema.default("/workspace"),
  resources: resourcesSchema.prefault({}),
  network: z.strictObject({ mode: z.enum(["none"]) }).default({ mode: "none" }),
  runtime: z
    .string()
    .regex(/^[a-z][a-z0-9_.-]{0,63}$/)
    .default("runc"),
  timeout_seconds: z.int().min(1).max(BOUNDS.timeout_seconds_max).default(300),
  queue_timeout_seconds: z.int().min(1).max(BOUNDS.queue_timeout_seconds_max).default(3600),
  attempts_max: z.int().min(1).max(BOUNDS.attempts_max).default(3),
  labels: z.record(labelText, labelText).default({}),
  session_id: sessionIdSchema.nullable().default(null),
});

type Draft = z.infer<typeof requestShape>;

function decodedLength(text: string, encoding: "utf8" | "base64"): number | null {
  return encoding === "base64" ? base64Length(text) : byteLength(text);
}

function checkArguments(draft: Draft, context: z.RefinementCtx): void {
  const total = draft.command.reduce((sum, argument) => sum + byteLength(argument) + 1, 0);
  if (draft.command[0] === "") {
    context.addIssue({ code: "custom", path: ["command", 0], message: "must name a program" });
  }
  if (total > BOUNDS.arguments_total_bytes_max) {
    const message = `all arguments together must be ${BOUNDS.arguments_total_bytes_max} bytes at most`;
    context.addIssue({ code: "custom", path: ["command"], message });
  }
}

function checkEnv(draft: Draft, context: z.RefinementCtx): void {
  const total = Object.entries(draft.env).reduce((sum, [key, value]) => sum + key.length + byteLength(value) + 2, 0);
  if (total > BOUNDS.env_total_bytes_max) {
    const message = `all values together must be ${BOUNDS.env_total_bytes_max} bytes at most`;
    context.addIssue({ code: "custom", path: ["env"], message });
  }
}

function checkFiles(draft: Draft, context: z.RefinementCtx): void {
  const seen = new Set<string>();
  let total = 0;
  for (const [index, file] of draft.files.entries()) {
    const length = decodedLength(file.content, file.encoding);
    if (length === null) {
      context.addIssue({ code: "custom", path: ["files", index, "content"], message: "is not canonical base64" });
      continue;
    }
    total += length;
    const twin = file.path.normalize("NFC").toLowerCase();
    if (seen.has(twin)) {
      const message = "another file has this path (case and Unicode form do not distinguish paths)";
      context.addIssue({ code: "custom", path: ["files", index, "path"], message });
    }
    seen.add(twin);
  }
  if (total > BOUNDS.files_total_bytes_max) {
    const message = `all files together must be ${BOUNDS.files_total_bytes_max} bytes at most`;
    context.addIssue({ code: "custom", path: ["files"], message });
  }
}

function checkStdin(draft: Draft, context: z.RefinementCtx): void {
  const length = decodedLength(draft.stdin, draft.stdin_encoding);
  const message =
    length === null
      ? "is not canonical base64"
      : length > BOUNDS.stdin_bytes_max
        ? `must be ${BOUNDS.stdin_bytes_max} bytes at most`
        : null;
  if (message) context.addIssue({ code: "custom", path: ["stdin"], message });
}

function checkRest(draft: Draft, context: z.RefinementCtx): void {
  if (draft.session_id !== null) {
    context.addIssue({ code: "custom", path: ["session_id"], message: "sessions are not offered yet" });
  }
}

export const taskRequestSchema = requestShape.superRefine((draft, context) => {
  checkArguments(draft, context);
  checkEnv(draft, context);
  checkFiles(draft, context);
  checkStdin(draft, context);
  checkRest(draft, context);
});

/** What a producer writes: all but image and command may be left out. */
export type TaskRequestInput = z.input<typeof taskRequestSchema>;
/** Parsed, with every default filled; `task_id` may still be absent. */
export type TaskRequest = z.infer<typeof taskRequestSchema>;

/** One field that was refused and why. `field` is a dotted path such as `resources.memory_mb`. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

export type ParsedRequest =
  | { readonly kind: "ok"; readonly request: TaskRequest }
  | { readonly kind: "refused"; readonly problems: readonly FieldProblem[] };

const FIELD_CHARACTERS_MAX = 200;

function nameOf(issue: z.core.$ZodIssue): FieldProblem {
  const field = short(issue.path.map(String).join("."));
  if (issue.code === "unrecognized_keys") {
    const [key] = issue.keys;
    return { field: short(field === "" ? `${key}` : `${field}.${key}`), message: "is not a known field" };
  }
  return { field: field === "" ? "request" : field, message: issue.message };
}

/** A key is the sender's text. It is cut before it is taken apart into characters. */
function short(field: string): string {
  return clip(field.slice(0, 2 * FIELD_CHARACTERS_MAX), FIELD_CHARACTERS_MAX);
}

/** Parses a request of unknown origin; a refusal names each field at fault. */
export function parseTaskRequest(input: unknown): ParsedRequest {
  const problem = entriesProblem(input);
  if (problem !== null) return { kind: "refused", problems: [problem] };
  const parsed = taskRequestSchema.safeParse(input);
  if (parsed.success) return { kind: "ok", request: parsed.data };
  return { kind: "refused", problems: parsed.error.issues.slice(0, 20).map(nameOf) };
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, canonical(item)]));
}

/** JSON with sorted keys: equal requests have equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(canonical(value));
}

/** Hex sha-256 of the normalised body, without its task_id. */
export function requestDigest(request: TaskRequest): string {
  const { task_id: _, ...body } = request;
  return createHash("sha256").update(canonicalJson(body)).digest("hex");
}
