/** Our seccomp profile, handed to the engine inline: engines since 20.10 then filter alike. See docs/seccomp.md. */
import { readFileSync } from "node:fs";

const PROFILE = new URL("../policy/seccomp.json", import.meta.url);

/** The profile as one line of JSON. */
export function readSeccompProfile(): string {
  return JSON.stringify(JSON.parse(readFileSync(PROFILE, "utf8")));
}
