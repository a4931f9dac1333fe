import { describe, expect, it } from "vitest";
import { endOnlyContainer } from "./container-removal.js";
import type { EngineConnection } from "./engine-connection.js";
import { type EngineReply, failed, ok } from "./engine-failure.js";

const BEING_REMOVED = failed({ kind: "being_removed", detail: "" });
const NOT_FOUND = failed({ kind: "not_found", detail: "" });
const state = (Status: string): EngineReply<unknown> => ok({ State: { Status } });

/** An engine that answers each kind of call from its list; the last answer is given again. */
function engineThat(answers: {
  kill: EngineReply<unknown>[];
  DELETE: EngineReply<unknown>[];
  GET: EngineReply<unknown>[];
}) {
  const asked: string[] = [];
  const connection: EngineConnection = {
    async ask({ method, path }) {
      const verb = path.endsWith("/kill") ? "kill" : method === "DELETE" ? "DELETE" : "GET";
      asked.push(verb);
      const [next = NOT_FOUND, ...later] = answers[verb];
      if (later.length > 0) answers[verb] = later;
      return next;
    },
    hijack: async () => NOT_FOUND,
    ping: async () => true,
    apiVersion: () => "1.41",
  };
  return { connection, asked };
}

describe("a container that another is removing", () => {
  it("is gone once the engine knows it no more (C2)", async () => {
    const engine = engineThat({ kill: [ok({})], DELETE: [BEING_REMOVED], GET: [state("removing"), NOT_FOUND] });

    expect(await endOnlyContainer(engine.connection, { id: "c1", ended: false })).toMatchObject({ proven: true });
    expect(engine.asked).toEqual(["kill", "DELETE", "GET", "GET"]);
  });

  it.each(["running", "exited", "dead"])("is not waited for once it is %s: that removal was given up", async (left) => {
    const engine = engineThat({ kill: [ok({})], DELETE: [BEING_REMOVED], GET: [state("removing"), state(left)] });

    expect(await endOnlyContainer(engine.connection, { id: "c1", ended: false })).toMatchObject({ proven: false });
    expect(engine.asked).toEqual(["kill", "DELETE", "GET", "GET"]);
  });
});
