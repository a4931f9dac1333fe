import type { Logger, Metrics } from "@holdfast/chassis";
import Fastify, { type FastifyInstance } from "fastify";
import { mountBoard } from "./board.js";
import type { BoardSources } from "./board-queues.js";
import { secureAnswers } from "./security-headers.js";

export interface ServerDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly board: BoardSources;
  readonly operator_password: string | undefined;
  /** True if the ledger answers in time. */
  ready(): Promise<boolean>;
}

function mountHealth(server: FastifyInstance, deps: ServerDeps): void {
  server.register(async (scope) => {
    scope.addHook("onSend", async (_request, reply) => void reply.header("cache-control", "no-store"));
    scope.get("/livez", async () => ({ live: true }));
    scope.get("/readyz", async (_request, reply) => {
      const ledger = await deps.ready();
      return reply.status(ledger ? 200 : 503).send({ ready: ledger, checks: { ledger } });
    });
    scope.get("/metrics", async (_request, reply) => {
      return reply.type(deps.metrics.content_type).send(await deps.metrics.text());
    });
  });
}

/** Builds the server without listening. Each surface lives in a scope of its own. */
export function buildServer(deps: ServerDeps): FastifyInstance {
  const server = Fastify({
    logger: false,
    trustProxy: false,
    bodyLimit: 64 * 1024,
    // Open pages poll over kept connections, which must not hold up a stop.
    forceCloseConnections: true,
    connectionTimeout: 30_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 5_000,
    // A job id joins two ids of 64 characters and a number.
    routerOptions: { maxParamLength: 256 },
  });
  secureAnswers(server);
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode !== undefined && error.statusCode < 500 ? error.statusCode : 500;
    if (status === 500) deps.logger.error("request_failed", { error });
    const message = status === 500 ? "The gateway failed for the moment." : "The request is not valid.";
    return reply.status(status).send({ message });
  });
  server.setNotFoundHandler((_request, reply) => reply.status(404).send({ message: "No such page." }));
  mountHealth(server, deps);
  mountBoard(server, { sources: deps.board, operator_password: deps.operator_password });
  return server;
}
