/** Debian's docker-registry on loopback, which an engine trusts without TLS, with one user. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineAsk, engineCall } from "./engine-call.js";
import { commitImage } from "./extra-images.js";
import { freePort } from "./free-port.js";
import { scratchFolder } from "./scratch.js";
import { waitFor } from "./wait-for.js";

export const USER = "reader";
export const PASSWORD = "open-sesame-4711";

export interface Registry {
  /** `127.0.0.1:<port>`. */
  readonly name: string;
  /** Puts the shell image with `changes` into it as `<name>/<repository>:1`, and gives the digest it has there. */
  push(socket: string, repository: string, changes: object): Promise<string>;
  /** SIGSTOP: connections are taken and nothing answers. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/** The engine insists on the padding that base64url leaves out. */
function authHeader(serveraddress: string): string {
  const text = JSON.stringify({ username: USER, password: PASSWORD, serveraddress });
  return Buffer.from(text).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

async function push(name: string, socket: string, repository: string, changes: object): Promise<string> {
  const target = `${name}/${repository}`;
  await commitImage(socket, target, changes);
  const header = { "X-Registry-Auth": authHeader(name) };
  const { body } = await engineCall(socket, "POST", `/images/${target}/push?tag=1`, undefined, 60_000, header);
  const digest = /"Digest":"(sha256:[0-9a-f]{64})"/.exec(String(body))?.[1];
  if (digest === undefined) throw new Error(`${target} was not pushed: ${String(body)}`);
  await engineAsk(socket, "DELETE", `/images/${target}:1`);
  await forget(socket, `${target}@${digest}`);
  return digest;
}

/** Takes the name away from the engine's image, where it has it. */
export async function forget(socket: string, reference: string): Promise<void> {
  const { status } = await engineCall(socket, "DELETE", `/images/${reference}`);
  if (status !== 200 && status !== 404) throw new Error(`${reference} stays: ${status}`);
}

export async function startRegistry(): Promise<Registry> {
  const port = await freePort();
  const folder = scratchFolder("registry");
  const name = `127.0.0.1:${port}`;
  const users = execFileSync("htpasswd", ["-Bbn", USER, PASSWORD], { encoding: "utf8" });
  writeFileSync(join(folder, "users"), users);
  const config = {
    version: 0.1,
    log: { level: "error" },
    storage: { filesystem: { rootdirectory: join(folder, "data") } },
    http: { addr: name },
    auth: { htpasswd: { realm: "test", path: join(folder, "users") } },
  };
  const file = join(folder, "config.yml");
  writeFileSync(file, JSON.stringify(config));
  const child: ChildProcess = spawn("docker-registry", ["serve", file], { stdio: "ignore" });
  child.once("error", () => undefined);
  const answers = async () => (await fetch(`http://${name}/v2/`).catch(() => null))?.status === 401;
  await waitFor(answers, { bound_ms: 20_000, what: "the registry answers" });

  return {
    name,
    push: (socket, repository, changes) => push(name, socket, repository, changes),
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    stop: async () => {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      const ended = () => child.exitCode !== null || child.signalCode !== null;
      await waitFor(ended, { bound_ms: 10_000, what: "the registry ends" });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
