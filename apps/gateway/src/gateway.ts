import type { AddressInfo } from "node:net";
import type { Logger, Metrics } from "@holdfast/chassis";
import { openLedger } from "@holdfast/ledger";
import { openTaskQueue } from "@holdfast/queue";
import type { GatewayConfig } from "./config.js";
import { registerFleetGauges } from "./fleet-gauges.js";
import { buildServer } from "./server.js";

export interface Gateway {
  readonly port: number;
  /** Ends open requests, then closes the connections to Redis. */
  stop(): Promise<void>;
}

export interface GatewayDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const READY_DEADLINE_MS = 1_000;

/** Serves until stop(). Rejects where Redis refuses it or the address cannot be taken. */
export async function startGateway(config: Readonly<GatewayConfig>, deps: GatewayDeps): Promise<Gateway> {
  const ledger = await openLedger({
    url: config.REDIS_URL,
    prefix: config.HOLDFAST_PREFIX,
    role: "gateway",
    fail_fast_ms: 5_000,
  });
  const queue = openTaskQueue({ ledger, prefix: config.HOLDFAST_QUEUE_PREFIX });
  const server = buildServer({
    ...deps,
    board: { hosts: ledger.hosts, queue },
    operator_password: config.HOLDFAST_OPERATOR_PASSWORD,
    ready: () => ledger.ping(READY_DEADLINE_MS),
  });
  const stop = async (): Promise<void> => {
    await server.close();
    await queue.close();
    await ledger.close();
  };
  registerFleetGauges(deps.metrics, { ledger, queue });
  try {
    await server.listen({ host: config.HOLDFAST_GATEWAY_HOST, port: config.HOLDFAST_GATEWAY_PORT });
  } catch (error) {
    await stop();
    throw error;
  }
  const { port } = server.server.address() as AddressInfo;
  deps.logger.info("gateway_listening", { host: config.HOLDFAST_GATEWAY_HOST, port });
  return { port, stop };
}
