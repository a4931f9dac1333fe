/** Paths of files inside /workspace. Nothing here ever names a path of the host. */
import { z } from "zod";
import { BOUNDS } from "./bounds.js";
import { byteLength, hasControlCharacter, hasLoneSurrogate } from "./text.js";

function problemOf(path: string): string | null {
  if (path.startsWith("/")) return "must be relative to the working directory /workspace";
  if (hasControlCharacter(path)) return "must not contain control characters";
  if (hasLoneSurrogate(path)) return "must be Unicode text";
  if (byteLength(path) > BOUNDS.path_bytes_max) return `must be ${BOUNDS.path_bytes_max} bytes at most`;
  for (const segment of path.split("/")) {
    if (segment === "" || segment === "." || segment === "..") {
      return "must not contain empty, '.' or '..' segments";
    }
    if (byteLength(segment) > BOUNDS.path_segment_bytes_max) {
      return `each segment must be ${BOUNDS.path_segment_bytes_max} bytes at most`;
    }
  }
  return null;
}

/** A relative path beneath /workspace, already in its only spelling. */
export const workspacePathSchema = z.string().superRefine((path, context) => {
  const problem = problemOf(path);
  if (problem) context.addIssue({ code: "custom", message: problem });
});
