/** The closed validator of E3: a sandbox is used only where engine and process 1 both say it is what was specified. */
import { readlinkSync } from "node:fs";
import type { Hello } from "@holdfast/contract";
import { type HelloExpectation, helloDeviations, OWN_NAMESPACES } from "./posture-hello.js";
import { inspectDeviations } from "./posture-inspect.js";

export interface PostureAccounts {
  readonly name: string;
  /** The engine's answer to inspect, taken after the hello. */
  readonly inspect: unknown;
  readonly hello: Hello;
}

/** Names of all controls that deviate; empty means verified. */
export function postureDeviations(accounts: PostureAccounts, expected: HelloExpectation): string[] {
  return [
    ...inspectDeviations(expected.spec, accounts.name, accounts.inspect),
    ...helloDeviations(accounts.hello, expected),
  ];
}

/** The worker's own namespaces, where this platform shows them. */
export function readOwnNamespaces(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of OWN_NAMESPACES) {
    try {
      found[name] = readlinkSync(`/proc/self/ns/${name}`);
    } catch {
      // A worker on another system shares no namespace with its engine.
    }
  }
  return found;
}
