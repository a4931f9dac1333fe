/** Bull Board over the queues of the fleet: to look at only, and nothing but what board-redaction lets through. */
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { FastifyAdapter } from "@bull-board/fastify";
import type { BoardQueue } from "@holdfast/queue";
import type { FastifyInstance, FastifyPluginCallback } from "fastify";
import { type BoardSources, type BootQueues, followBoots } from "./board-queues.js";
import { fieldsOf, nameOf, redactJob, summarizeData, summarizeReturnValue } from "./board-redaction.js";
import { judgeAccess, OPERATOR_USER } from "./operator-access.js";

export const BOARD_PATH = "/queues";

type BoardOptions = NonNullable<Parameters<typeof createBullBoard>[0]["options"]>;
type Hooks = NonNullable<BoardOptions["handlerHooks"]>;
type AfterResult = Awaited<ReturnType<NonNullable<Hooks["after"]>>>;
type Body = AfterResult["body"];

/** A page of jobs is read whole from Redis on each poll, and one request may hold 24 MiB. */
const JOBS_PER_PAGE_MAX = 20;
const POLL_SECONDS = 5;

/** How each answer is rebuilt; a route that is not here is not offered. */
const REDACTED_ROUTES: Readonly<Record<string, (body: Record<string, unknown>) => unknown>> = {
  "/api/queues": (body) => ({ queues: listOf(body["queues"]).map(redactQueue) }),
  "/api/queues/:queueName/:jobId": (body) => ({ job: redactJob(body["job"]), status: body["status"] }),
  "/api/queues/:queueName/:jobId/logs": () => [],
  "/api/queues/:queueName/:jobId/flow": () => ({ nodeId: "", isFlowNode: false, flowRoot: null }),
};

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function redactQueue(queue: unknown): Record<string, unknown> {
  const fields = fieldsOf(queue);
  return { ...fields, jobs: listOf(fields["jobs"]).map(redactJob) };
}

const before: NonNullable<Hooks["before"]> = ({ method, route, request }) => {
  if (method !== "get" || !Object.hasOwn(REDACTED_ROUTES, route)) return { allow: false, status: 403 };
  const wanted = Number(request.query["jobsPerPage"] ?? JOBS_PER_PAGE_MAX);
  if (wanted > JOBS_PER_PAGE_MAX) request.query = { ...request.query, jobsPerPage: String(JOBS_PER_PAGE_MAX) };
  return { allow: true };
};

const after: NonNullable<Hooks["after"]> = ({ route }, result) => {
  const rebuild = REDACTED_ROUTES[route];
  const failed = result.status !== undefined && result.status >= 400;
  if (failed || rebuild === undefined) return result;
  return { ...result, body: rebuild(fieldsOf(result.body)) as Body };
};

function shownAs(queue: BoardQueue, description: string): BullMQAdapter {
  const shown = new BullMQAdapter(queue as unknown as ConstructorParameters<typeof BullMQAdapter>[0], {
    readOnlyMode: true,
    allowRetries: false,
    description,
  });
  shown.setFormatter("name", nameOf);
  shown.setFormatter("data", summarizeData);
  shown.setFormatter("returnValue", summarizeReturnValue as (value: unknown) => string);
  shown.setFormatter("progress", (value: unknown) => (typeof value === "number" ? value : 0));
  return shown;
}

interface Board {
  readonly plugin: FastifyPluginCallback;
  readonly boots: BootQueues;
}

function createBoard(sources: BoardSources): Board {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(BOARD_PATH);
  const { addQueue, removeQueue } = createBullBoard({
    queues: [shownAs(sources.queue.boardQueue(), "Tasks of the whole fleet, one job a delivery")],
    serverAdapter: adapter,
    options: {
      uiBasePath: dirname(createRequire(import.meta.url).resolve("@bull-board/ui/package.json")),
      handlerHooks: { before, after },
      uiConfig: {
        boardTitle: "Holdfast",
        hideDocsLink: true,
        hideRedisDetails: true,
        showWorkers: false,
        showMetrics: false,
        pollingInterval: { showSetting: false, forceInterval: POLL_SECONDS },
      },
    },
  });
  // The board's own handler would pass on the text of whatever error came from Redis.
  adapter.setErrorHandler(() => ({ status: 500, body: { error: { key: "ERRORS.INTERNAL_SERVER_ERROR" } } }));
  const boots = followBoots(sources, {
    add: (queue, host_id) => addQueue(shownAs(queue, `Tasks that were sent to this worker of ${host_id}`)),
    remove: ({ name }) => removeQueue(name),
  });
  return { plugin: adapter.registerPlugin(), boots };
}

export interface BoardDeps {
  readonly sources: BoardSources;
  readonly operator_password: string | undefined;
}

/** Mounts the board in a scope of its own: its guard and its error form touch nothing else. */
export function mountBoard(server: FastifyInstance, deps: BoardDeps): void {
  const board = createBoard(deps.sources);
  server.register(
    async (scope) => {
      scope.addHook("onClose", () => board.boots.close());
      scope.addHook("onRequest", async (request, reply) => {
        const socket_address = request.raw.socket.remoteAddress;
        const access = judgeAccess({ headers: request.headers, socket_address }, deps.operator_password);
        if (access.kind === "allowed") {
          if (request.url.startsWith(`${BOARD_PATH}/api/`)) await board.boots.refresh();
          return;
        }
        if (access.status === 401) {
          reply.header("www-authenticate", `Basic realm="Holdfast ${OPERATOR_USER}", charset="UTF-8"`);
        }
        return reply.status(access.status).type("text/plain; charset=utf-8").send(`${access.message}\n`);
      });
      scope.addHook("onSend", async (request, reply) => {
        if (!request.url.startsWith(`${BOARD_PATH}/static/`)) reply.header("cache-control", "no-store");
      });
      await scope.register(board.plugin);
    },
    { prefix: BOARD_PATH },
  );
}
