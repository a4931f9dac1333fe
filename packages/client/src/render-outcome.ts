/** An outcome as text for a model: the verdict first, then both streams cut to what a model should read. */
import type { Outcome, StreamOutput, TaskError } from "@holdfast/contract";

export interface RenderOptions {
  /** Bytes shown of each stream: half from its head, half from its tail. Default 2048. */
  readonly bytes_max?: number;
}

const DEFAULT_BYTES_MAX = 2048;

/** Renders an outcome: how the task ended, whose fault a failure was and whether to try again, then its output. */
export function renderOutcome(outcome: Outcome, options: RenderOptions = {}): string {
  const { bytes_max = DEFAULT_BYTES_MAX } = options;
  return [
    verdict(outcome),
    ...(outcome.error ? errorLines(outcome.error) : []),
    ...(outcome.state_lost ? ["The state of the session was lost before this task."] : []),
    ...streamLines("stdout", outcome.stdout, bytes_max),
    ...streamLines("stderr", outcome.stderr, bytes_max),
  ].join("\n");
}

function verdict(outcome: Outcome): string {
  const facts = [
    outcome.exit_code === null ? null : `exit code ${outcome.exit_code}`,
    outcome.signal,
    outcome.ran ? null : "nothing was run",
    outcome.timing.run_ms === null ? null : `ran ${(outcome.timing.run_ms / 1000).toFixed(1)} s`,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? outcome.status : `${outcome.status} (${facts.join(", ")})`;
}

function errorLines(error: TaskError): string[] {
  const evidence = Object.entries(error.evidence).map(([key, value]) => `${key}=${value}`);
  return [
    `${error.code}: ${error.message}`,
    `fault: ${error.fault}; ${retryAdvice(error)}`,
    ...(evidence.length === 0 ? [] : [`evidence: ${evidence.join(", ")}`]),
  ];
}

function retryAdvice({ retryable, retry_after_ms, fault }: TaskError): string {
  if (!retryable) {
    return fault === "user" ? "change the code or the request before trying again" : "do not retry the same request";
  }
  const when = retry_after_ms === undefined ? "" : ` after ${Math.ceil(retry_after_ms / 1000)} s`;
  return `the same request may be retried${when}`;
}

function streamLines(name: string, stream: StreamOutput, bytesMax: number): string[] {
  if (stream.total_bytes === 0) return [];
  const heading = `--- ${name} (${stream.total_bytes} bytes) ---`;
  if (stream.text === null) return [heading, "[the text is no longer kept]"];
  const bytes = Buffer.from(stream.text, stream.encoding);
  const lossy = stream.encoding === "base64" ? ["[not UTF-8: unreadable bytes are replaced]"] : [];
  return [heading, ...lossy, shorten(bytes, stream.total_bytes, bytesMax)];
}

/** What is cut is counted against the stream's true size: the kept text may itself lack its middle. */
function shorten(bytes: Buffer, totalBytes: number, bytesMax: number): string {
  if (bytes.length <= bytesMax) return bytes.toString("utf8");
  const half = Math.floor(bytesMax / 2);
  const head = bytes.subarray(0, edgeBefore(bytes, half));
  const tail = bytes.subarray(edgeAfter(bytes, bytes.length - half));
  const cut = totalBytes - head.length - tail.length;
  return `${head.toString("utf8")}\n[truncated ${cut} bytes]\n${tail.toString("utf8")}`;
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The last character edge at or before `at`; a run of continuation bytes longer than a character's is no edge. */
function edgeBefore(bytes: Buffer, at: number): number {
  for (let edge = at; edge > at - 4 && edge >= 0; edge -= 1) {
    if (!continues(bytes[edge])) return edge;
  }
  return at;
}

function edgeAfter(bytes: Buffer, at: number): number {
  for (let edge = at; edge < at + 4; edge += 1) {
    if (!continues(bytes[edge])) return edge;
  }
  return at;
}
