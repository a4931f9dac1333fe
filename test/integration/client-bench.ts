/** What the client's tests share: a ledger, a client over it, and a boot that grants what the test asks for. */

import { type HoldfastClient, openClient } from "@holdfast/client";
import {
  type Amount,
  type AppendBody,
  type BootId,
  drawBootId,
  drawHostId,
  drawOwnerToken,
  drawSandboxId,
  emptyStream,
  type HostId,
  type Outcome,
  outcomeSchema,
  type TaskName,
  type TaskRequestInput,
} from "@holdfast/contract";
import { type AdmitReply, type Grant, type Ledger, openLedger } from "@holdfast/ledger";
import { type Disposition, type Envelope, openTaskQueue, type TaskQueue } from "@holdfast/queue";
import { waitFor } from "../support/wait-for.js";

export const REQUEST = { image: "shell:1", command: ["true"] } satisfies TaskRequestInput;

const LIMITS: Amount = { slots: 4, cpu_milli: 8_000, memory_mb: 65_536, pids: 8_192 };

export interface ClientBench {
  readonly url: string;
  readonly prefix: string;
  readonly client: HoldfastClient;
  readonly ledger: Ledger;
  readonly queue: TaskQueue;
  /** One more client of the same fleet, closed with the bench. */
  another(): Promise<HoldfastClient>;
  admit(name: TaskName, delivery?: number): Promise<AdmitReply>;
  /** Admits and activates; throws where the grant is denied. */
  grant(name: TaskName, delivery?: number): Promise<Grant>;
  settle(grant: Grant, more?: Partial<Outcome>): Promise<void>;
  /** Answers a job as a worker would; a granted task is run by `run`. */
  handle(envelope: Envelope, run: (grant: Grant) => Promise<Partial<Outcome>>): Promise<Disposition>;
  close(): Promise<void>;
}

interface Boot {
  readonly boot_id: BootId;
  readonly host_id: HostId;
  stop(): void;
}

export async function openClientBench(url: string, limits: Amount = LIMITS): Promise<ClientBench> {
  const prefix = `t_${Math.random().toString(36).slice(2)}`;
  const settings = { redis_url: url, prefix, queue_prefix: `${prefix}_bull` };
  const ledger = await openLedger({ url, prefix, role: "test" });
  await ledger.fleet(null);
  const queue = openTaskQueue({ ledger, prefix: settings.queue_prefix });
  const boot = await liveBoot(ledger, limits);
  const clients: HoldfastClient[] = [];
  const another = async (): Promise<HoldfastClient> => {
    const client = await openClient(settings);
    clients.push(client);
    return client;
  };
  const host = hostOver(ledger, queue, boot);
  const client = await another();
  await waitForGrants(client, host);
  return {
    url,
    prefix,
    client,
    ledger,
    queue,
    another,
    ...host,
    close: async () => {
      boot.stop();
      await Promise.all(clients.map((opened) => opened.close()));
      await queue.close();
      await ledger.close();
    },
  };
}

type Host = Pick<ClientBench, "admit" | "grant" | "settle" | "handle">;

function hostOver(ledger: Ledger, queue: TaskQueue, { boot_id, host_id }: Boot): Host {
  function admit(name: TaskName, delivery = 1): Promise<AdmitReply> {
    const drawn = { sandbox_id: drawSandboxId(), owner_token: drawOwnerToken() };
    return ledger.tasks.admit({ ...name, ...drawn, boot_id, host_id, delivery });
  }

  async function grant(name: TaskName, delivery = 1): Promise<Grant> {
    const reply = await admit(name, delivery);
    if (reply.kind !== "granted") throw new Error(`not granted: ${JSON.stringify(reply)}`);
    await ledger.tasks.activate(reply.grant, reply.grant.sandbox_id);
    return reply.grant;
  }

  async function settle(held: Grant, more: Partial<Outcome> = {}): Promise<void> {
    const settled = await ledger.tasks.settle(held, outcomeFor(held, more));
    if (settled.kind !== "fenced") await queue.promote(settled.promotions);
    const released = await ledger.tasks.release(held);
    await queue.promote(released.promotions);
  }

  async function handle(envelope: Envelope, run: (grant: Grant) => Promise<Partial<Outcome>>): Promise<Disposition> {
    if (envelope.kind !== "delivery") return { kind: "reject", message: "not ours" };
    const reply = await admit(envelope.name, envelope.delivery);
    switch (reply.kind) {
      case "granted": {
        await ledger.tasks.activate(reply.grant, reply.grant.sandbox_id);
        await settle(reply.grant, await run(reply.grant));
        const outcome = await ledger.tasks.outcome(envelope.name);
        return outcome ? { kind: "complete", outcome } : { kind: "stale" };
      }
      case "done":
        return { kind: "complete", outcome: reply.outcome };
      case "parked":
        return { kind: "park", sleep_ms: 30_000 };
      default:
        return { kind: "stale" };
    }
  }

  return { admit, grant, settle, handle };
}

async function liveBoot(ledger: Ledger, limits: Amount): Promise<Boot> {
  const boot_id = drawBootId();
  const host_id = drawHostId();
  const reply = await ledger.boots.register({
    boot_id,
    host_id,
    limits,
    default_limits: limits,
    images: [{ image: "shell:1", digest: `sha256:${"0".repeat(64)}` }],
    runtimes: ["runc"],
    engine_version: "20.10.24",
    program_version: "0.1.0",
  });
  if (reply.kind !== "registered") throw new Error(`not registered: ${JSON.stringify(reply)}`);
  let counter = 0;
  const beat = () => {
    counter += 1;
    ledger.boots.beat({ boot_id, counter, held: [], fence_seen: null, engine_healthy: true }).catch(() => undefined);
  };
  const beats = setInterval(beat, 1_000);
  return { boot_id, host_id, stop: () => clearInterval(beats) };
}

/** A fresh ledger may keep its grants closed for one lease. */
async function waitForGrants(client: HoldfastClient, host: Host): Promise<void> {
  const probe = await client.submit({ ...REQUEST, workspace_id: "probe", task_id: "probe" });
  const reply = await waitFor(
    async () => {
      const admitted = await host.admit(probe);
      return admitted.kind === "granted" ? admitted : null;
    },
    { bound_ms: 15_000, what: "grants are open", look_ms: 200 },
  );
  await host.settle(reply.grant);
}

export function outcomeFor(grant: Grant, more: Partial<Outcome> = {}): Outcome {
  return outcomeSchema.parse({
    workspace_id: grant.workspace_id,
    task_id: grant.task_id,
    status: "SUCCEEDED",
    ran: true,
    warm: false,
    exit_code: 0,
    signal: null,
    attempt: grant.attempt,
    host_id: grant.host_id,
    image: "shell:1",
    image_digest: null,
    generation: grant.generation,
    state_lost: false,
    isolation: "runc",
    stdout: emptyStream(),
    stderr: emptyStream(),
    limits: null,
    timing: { queued_ms: 1, setup_ms: 1, run_ms: 1, harvest_ms: 1, total_ms: 4 },
    usage: { cpu_ms: null, memory_peak_bytes: null, killed_processes: null, kill_ms: null },
    tree_receipt: null,
    cleanup_pending: false,
    error: null,
    ...more,
  });
}

export function logOf(text: string): AppendBody {
  return {
    kind: "task_log",
    stream: "stdout",
    encoding: "utf8",
    data: text,
    bytes: Buffer.byteLength(text),
    dropped_bytes: 0,
  };
}

/** Appends batches one after another as the grant's holder, counting the sequence. */
export async function appendAll(ledger: Ledger, grant: Grant, batches: readonly string[]): Promise<void> {
  let sequence = grant.sequence + 1;
  for (const batch of batches) {
    const reply = await ledger.tasks.append(grant, sequence, [logOf(batch)]);
    if (reply.kind !== "appended") throw new Error("fenced");
    sequence = reply.sequence;
  }
}
