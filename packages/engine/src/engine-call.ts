/**
 * One call to the engine. The only file that names dockerode, and it uses nothing but its transport: typed calls there
 * hide create's warnings, guess at status codes, and send attach options as a body. No custom `agent` and no
 * `timeout` either: the first makes each request walk all sockets, the second looks like a crash of the engine.
 */
import { Socket } from "node:net";
import Docker from "dockerode";
import { type EngineReply, failed, failureOfConnection, failureOfStatus, ok } from "./engine-failure.js";

export interface EngineCall {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Begins with `/` and holds no query. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** A Buffer is sent as a tar archive, anything else as JSON. */
  readonly body?: object;
  readonly deadline_ms: number;
  /** Sent with a pull, in a header. */
  readonly registry_auth?: object;
}

export interface EngineCaller {
  call(call: EngineCall, apiVersion: string | null): Promise<EngineReply<unknown>>;
  /** Takes the connection over: what it carries next is the container's stream. */
  hijack(call: EngineCall, apiVersion: string | null): Promise<EngineReply<Socket>>;
}

const SUCCESS = { 101: true, 200: true, 201: true, 204: true, 304: true } as const;

type DialOptions = Parameters<Docker["modem"]["dial"]>[0];

function dialOptions(call: EngineCall, version: string | null, signal: AbortSignal): DialOptions {
  const tar = Buffer.isBuffer(call.body);
  return {
    path: `${version === null ? "" : `/v${version}`}${call.path}?`,
    method: call.method,
    options: { _query: call.query ?? {}, _body: tar ? {} : (call.body ?? {}) },
    ...(Buffer.isBuffer(call.body) ? { file: call.body } : {}),
    ...(call.registry_auth === undefined ? {} : { authconfig: call.registry_auth }),
    statusCodes: SUCCESS,
    abortSignal: signal,
  };
}

function failureOf(error: Error): ReturnType<typeof failed> {
  if ("statusCode" in error && typeof error.statusCode === "number") {
    return failed(failureOfStatus(error.statusCode, "json" in error ? error.json : error.message));
  }
  return failed(failureOfConnection(error));
}

export function createEngineCaller(socketPath: string): EngineCaller {
  // The modem reads DOCKER_HOST and its relatives by itself unless each is named here.
  const { modem } = new Docker({
    socketPath,
    host: undefined,
    port: undefined,
    ca: undefined,
    cert: undefined,
    key: undefined,
    timeout: undefined,
    protocol: "http",
  });

  function dial(call: EngineCall, version: string | null, extra: object): Promise<EngineReply<unknown>> {
    return new Promise((resolve) => {
      const abort = new AbortController();
      // Settled here as well: a response that is cut after its headers would leave the modem silent for ever.
      const timer = setTimeout(() => {
        resolve(
          failed({ kind: "deadline", detail: `${call.method} ${call.path}: no answer in ${call.deadline_ms} ms` }),
        );
        abort.abort();
      }, call.deadline_ms);
      modem.dial({ ...dialOptions(call, version, abort.signal), ...extra }, (error, result) => {
        clearTimeout(timer);
        if (abort.signal.aborted) {
          if (result instanceof Socket) result.destroy();
          return;
        }
        resolve(error ? failureOf(error) : ok(result as unknown));
      });
    });
  }

  return {
    call: (call, version) => dial(call, version, {}),
    async hijack(call, version) {
      // An empty body with a length: Podman takes whatever is sent here for the container's input.
      const reply = await dial({ ...call, body: Buffer.alloc(0) }, version, { hijack: true });
      if (reply.kind === "failed") return reply;
      if (reply.value instanceof Socket) return ok(reply.value);
      return failed({ kind: "unexpected", detail: "the engine did not hand the connection over" });
    },
  };
}
