import { request } from "node:http";
import { CommandFault } from "../command-fault.js";
import type { Environment } from "../config.js";

const DEFAULT_SOCKET = "/var/run/docker.sock";
const DEADLINE_MS = 5_000;

/** Path of the engine's socket; null where DOCKER_HOST names another kind of address. */
export function engineSocket(env: Environment): string | null {
  const host = env["DOCKER_HOST"] ?? "";
  if (host === "") return DEFAULT_SOCKET;
  return host.startsWith("unix://") ? host.slice("unix://".length) : null;
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: "/_ping", timeout: DEADLINE_MS }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on("timeout", () => call.destroy(new Error("late")));
    call.on("error", () => resolve(false));
    call.end();
  });
}

/** Throws a CommandFault that says how to get an engine where none answers. */
export async function checkEngine(env: Environment): Promise<void> {
  const socket = engineSocket(env);
  if (socket === null)
    throw new CommandFault("usage", "DOCKER_HOST must be an address such as unix:///var/run/docker.sock");
  if (await answers(socket)) return;
  const install =
    "install it (apt-get install docker.io) and start it (systemctl start docker, or ./scripts/engine start)";
  throw new CommandFault("platform", `no Docker Engine answers at ${socket}: ${install}`);
}
