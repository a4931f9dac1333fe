import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "./metrics.js";

export interface HealthServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  live(): boolean;
  ready(): boolean;
  readonly metrics: Metrics;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body);
}

/** Serves /livez, /readyz and /metrics, and nothing else. Rejects where the address cannot be taken. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const state = (response: ServerResponse, good: boolean): void =>
    answer(response, good ? 200 : 503, "text/plain; charset=utf-8", good ? "ok\n" : "no\n");
  const server = createServer((request, response) => {
    const path = (request.url ?? "/").split("?", 1)[0];
    if (request.method !== "GET") return answer(response, 405, "text/plain; charset=utf-8", "no\n");
    if (path === "/livez") return state(response, options.live());
    if (path === "/readyz") return state(response, options.ready());
    if (path !== "/metrics") return answer(response, 404, "text/plain; charset=utf-8", "no\n");
    options.metrics.text().then(
      (text) => answer(response, 200, options.metrics.content_type, text),
      () => state(response, false),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
