/** Images with what Holdfast ignores or refuses, committed from the shell image without starting anything. */
import { engineAsk, engineCall } from "./engine-call.js";

export const CHANGES = {
  entrypoint: {
    Entrypoint: ["/bin/echo", "EP"],
    Cmd: ["d"],
    User: "65534",
    Env: ["FROM_IMAGE=image", "OVER=image"],
    Healthcheck: { Test: ["CMD", "true"], Interval: 1_000_000_000 },
  },
  volume: { Volumes: { "/data": {}, "/cache": {} } },
};

export type ExtraImage = keyof typeof CHANGES;

/** Makes `<repository>:1` in the engine: the shell image with `changes` of its config. */
export async function commitImage(socket: string, repository: string, changes: object): Promise<void> {
  const made = (await engineAsk(socket, "POST", "/containers/create", {
    Image: "holdfast/shell:1",
    Cmd: ["true"],
    Labels: { "holdfast-test.owner": "extra-images" },
  })) as { Id: string };
  const query = `container=${made.Id}&repo=${repository}&tag=1&pause=false`;
  await engineAsk(socket, "POST", `/commit?${query}`, changes);
  await engineAsk(socket, "DELETE", `/containers/${made.Id}?force=1`);
}

const nameOf = (name: ExtraImage): string => `holdfast-test/${name}:1`;

/** Makes `holdfast-test/<name>:1` in the engine. */
export async function loadExtraImages(socket: string, names: readonly ExtraImage[]): Promise<void> {
  await removeExtraImages(socket, names);
  for (const name of names) await commitImage(socket, `holdfast-test/${name}`, CHANGES[name]);
}

/** Also where they are not there. */
export async function removeExtraImages(socket: string, names: readonly ExtraImage[]): Promise<void> {
  for (const name of names) {
    const reply = await engineCall(socket, "DELETE", `/images/${nameOf(name)}`);
    if (reply.status !== 200 && reply.status !== 404) throw new Error(`${nameOf(name)} stays: ${reply.status}`);
  }
}
