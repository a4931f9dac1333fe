/** A container that is nobody's of ours and stands by while tests run: whoever touches it has gone too far (E2). */
import { TEST_OWNER_LABEL as LABEL } from "./census.js";
import { byLabels, engineAsk, engineCall } from "./engine-call.js";
import { isAlive } from "./scratch.js";

export interface Stranger {
  /** Throws unless the container runs as it did at its start. */
  expectUntouched(): Promise<void>;
  remove(): Promise<void>;
}

async function clearAbandoned(socket: string): Promise<void> {
  const rows = (await engineAsk(socket, "GET", `/containers/json?all=1&${byLabels(LABEL)}`)) as {
    Id: string;
    Labels: Record<string, string>;
  }[];
  for (const row of rows) {
    if (!isAlive(Number(row.Labels[LABEL]))) await engineCall(socket, "DELETE", `/containers/${row.Id}?force=1`);
  }
}

export async function placeStranger(socket: string, image: string): Promise<Stranger> {
  await clearAbandoned(socket);
  const { Id: id } = (await engineAsk(socket, "POST", "/containers/create", {
    Image: image,
    Cmd: ["sleep", "86400"],
    Labels: { [LABEL]: `${process.pid}` },
    HostConfig: { NetworkMode: "none" },
  })) as { Id: string };
  await engineAsk(socket, "POST", `/containers/${id}/start`);
  const look = async () => {
    const { State } = (await engineAsk(socket, "GET", `/containers/${id}/json`)) as {
      State: { Running: boolean; StartedAt: string };
    };
    return `${State.Running} ${State.StartedAt}`;
  };
  const before = await look();
  return {
    expectUntouched: async () => {
      const after = await look();
      if (after !== before) throw new Error(`a container that is not ours was touched: ${before} became ${after}`);
    },
    remove: async () => {
      await engineCall(socket, "DELETE", `/containers/${id}?force=1`);
    },
  };
}
