import { emptyStream, type StreamOutput } from "@holdfast/contract";

/** Both streams of a command that never started. */
export function emptyOutput(): { readonly stdout: StreamOutput; readonly stderr: StreamOutput } {
  return { stdout: emptyStream(), stderr: emptyStream() };
}
