/**
 * A proxy of ours in front of Redis or of the engine. A crash point is "the proxy holds request N or its reply, then
 * SIGKILL": production code has no hook. Everything that passes is counted and logged with monotonic time.
 */
import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { httpProtocol } from "./http-protocol.js";
import { type Phase, ProxyConnection, type Switchboard } from "./proxy-connection.js";
import { Line, type Mode } from "./proxy-mode.js";
import { type Action, type Exchange, monotonicMs, Rule, ruleFor, type Selector } from "./proxy-rules.js";
import { respProtocol, type ScriptNames } from "./resp-protocol.js";
import type { Protocol, RequestHead } from "./wire.js";

export * from "./proxy-rules.js";

export interface LogEntry {
  /** Monotonic milliseconds. */
  readonly at_ms: number;
  readonly phase: Phase;
  readonly connection: number;
  readonly ordinal: number | null;
  readonly name: string;
  readonly detail: string | null;
  readonly status: string | null;
}

/** What an observer sees besides: the whole head, and the reply's first piece. */
export interface Sighting extends LogEntry {
  readonly exchange: Exchange | null;
  readonly bytes: Buffer | null;
}

const LOG_ENTRIES_MAX = 400_000;

type Address = { readonly host: string; readonly port: number } | { readonly path: string };

export interface ProxyOptions {
  readonly protocol: Protocol;
  readonly listen: Address;
  readonly target: Address;
}

export class FaultProxy {
  readonly log: LogEntry[] = [];
  private readonly options: ProxyOptions;
  private readonly line = new Line();
  private readonly rules: Rule[] = [];
  private readonly observers = new Set<(sighting: Sighting) => void>();
  private readonly connections = new Set<ProxyConnection>();
  private readonly counts = new Map<string, number>();
  private server: Server | null = null;
  private address: Address;
  private connectionCount = 0;
  private exchangeCount = 0;

  constructor(options: ProxyOptions) {
    this.options = options;
    this.address = options.listen;
  }

  get port(): number {
    return "port" in this.address ? this.address.port : 0;
  }

  /** Sets a fault. A request is given to the first rule that takes it and counts for no later one. */
  on(selector: Selector, action: Action): Rule {
    const rule = new Rule(selector, action);
    this.rules.push(rule);
    return rule;
  }

  observe(observer: (sighting: Sighting) => void): void {
    this.observers.add(observer);
  }

  /** How many requests of this name or detail were seen. */
  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  /** Changes the line. Connections on which bytes were lost end when the line is good again. */
  async set(mode: Mode): Promise<void> {
    const before = this.line.mode.kind;
    this.line.set(mode);
    if (mode.kind === "cut") return this.unlisten();
    if (before === "cut") await this.listen();
    for (const connection of [...this.connections]) if (connection.lossy) connection.close();
  }

  /** Ends the connections of now; new ones are accepted. */
  reset(): void {
    for (const connection of [...this.connections]) connection.close();
  }

  /** Lifts every fault: the line passes, all rules let go. */
  async heal(): Promise<void> {
    for (const rule of this.rules) {
      rule.remove();
      rule.release();
    }
    await this.set({ kind: "pass" });
  }

  async listen(): Promise<void> {
    if (this.server !== null) return;
    if ("path" in this.address) rmSync(this.address.path, { force: true });
    const server = createServer({ allowHalfOpen: true }, (client) => this.accept(client));
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.address, resolve);
    });
    const bound = server.address();
    if (typeof bound === "object" && bound !== null && "host" in this.address) {
      this.address = { host: this.address.host, port: bound.port };
    }
  }

  async close(): Promise<void> {
    for (const rule of this.rules) rule.remove();
    await this.unlisten();
    for (const rule of this.rules) rule.release();
    this.line.set({ kind: "pass" });
  }

  private async unlisten(): Promise<void> {
    const server = this.server;
    this.server = null;
    const closed = server === null ? null : new Promise((resolve) => server.close(resolve));
    this.reset();
    await closed;
  }

  private accept(client: Socket): void {
    this.connectionCount += 1;
    const server = connect({ ...this.options.target, allowHalfOpen: true });
    if ("host" in this.options.target) {
      client.setNoDelay(true);
      server.setNoDelay(true);
    }
    const connection = new ProxyConnection(this.connectionCount, client, server, this.board());
    this.connections.add(connection);
    client.once("close", () => this.connections.delete(connection));
  }

  private board(): Switchboard {
    return {
      protocol: this.options.protocol,
      line: this.line,
      number: (connection, head) => this.number(connection, head),
      note: (phase, connection, exchange, status, bytes) => {
        const { ordinal = null, name = "", detail = null } = exchange ?? {};
        const entry: LogEntry = { at_ms: monotonicMs(), phase, connection, ordinal, name, detail, status };
        if (this.log.length < LOG_ENTRIES_MAX) this.log.push(entry);
        for (const observer of this.observers) observer({ ...entry, exchange, bytes });
      },
    };
  }

  private number(connection: number, head: RequestHead): { exchange: Exchange; rule: Rule | null } {
    this.exchangeCount += 1;
    for (const name of new Set([head.name, head.detail ?? head.name])) this.counts.set(name, this.count(name) + 1);
    const exchange: Exchange = { ...head, ordinal: this.exchangeCount, connection, at_ms: monotonicMs() };
    return { exchange, rule: ruleFor(this.rules, head) };
  }
}

/** A proxy in front of a Redis, on a port of its own. */
export async function startRedisProxy(target: { port: number; names?: ScriptNames }): Promise<FaultProxy> {
  const proxy = new FaultProxy({
    protocol: respProtocol(target.names),
    listen: { host: "127.0.0.1", port: 0 },
    target: { host: "127.0.0.1", port: target.port },
  });
  await proxy.listen();
  return proxy;
}

/** A proxy in front of an engine's socket, on a socket of its own. */
export async function startEngineProxy(target: { socket: string; listen: string }): Promise<FaultProxy> {
  const proxy = new FaultProxy({
    protocol: httpProtocol(),
    listen: { path: target.listen },
    target: { path: target.socket },
  });
  await proxy.listen();
  return proxy;
}
