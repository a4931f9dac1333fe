/**
 * One client's connection through the proxy. Order is kept in each direction: what stands behind a held request or
 * reply waits with it, as it would in a network.
 */
import type { Socket } from "node:net";
import { Lane } from "./proxy-lane.js";
import type { Direction, Line } from "./proxy-mode.js";
import { type Exchange, monotonicMs, type Rule } from "./proxy-rules.js";
import type { Conversation, Piece, Protocol, ReplyHead, RequestHead } from "./wire.js";

const QUEUED_BYTES_MAX = 4 * 1024 * 1024;

export type Phase =
  | "opened"
  | "closed"
  | "request"
  | "held"
  | "released"
  | "forwarded"
  | "reply"
  | "dropped"
  | "failed";

/** What the connection asks of its proxy. */
export interface Switchboard {
  readonly protocol: Protocol;
  readonly line: Line;
  number(connection: number, head: RequestHead): { readonly exchange: Exchange; readonly rule: Rule | null };
  note(phase: Phase, connection: number, exchange: Exchange | null, status: string | null, bytes: Buffer | null): void;
}

interface Pending {
  readonly exchange: Exchange;
  readonly rule: Rule | null;
  /** Answered by the proxy itself. */
  readonly canned: Buffer | null;
  left: number;
}

export class ProxyConnection {
  readonly id: number;
  private readonly board: Switchboard;
  private readonly client: Socket;
  private readonly server: Socket;
  private readonly conversation: Conversation;
  private readonly toServer: Lane;
  private readonly toClient: Lane;
  private readonly pending: Pending[] = [];
  private current: Pending | null = null;
  private skipping = false;
  private muted = false;
  private clientGone = false;
  /** Bytes were lost on it, so it can never be of use again. */
  lossy = false;
  private closed = false;
  private readonly goneWaiters = new Set<() => void>();

  constructor(id: number, client: Socket, server: Socket, board: Switchboard) {
    this.id = id;
    this.board = board;
    this.client = client;
    this.server = server;
    this.conversation = board.protocol.open();
    this.toServer = new Lane(() => this.close());
    this.toClient = new Lane(() => this.close());
    board.note("opened", id, null, null, null);
    this.listen();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.toServer.stop();
    this.toClient.stop();
    for (const wake of this.goneWaiters) wake();
    this.client.destroy();
    this.server.destroy();
    this.board.note("closed", this.id, null, null, null);
  }

  private listen(): void {
    this.client.on("data", (chunk) => {
      for (const piece of this.conversation.requests(chunk)) this.takeRequest(piece);
      this.brake(this.client, this.toServer);
    });
    this.server.on("data", (chunk) => {
      const current = () => this.pending[0]?.exchange ?? null;
      for (const piece of this.conversation.replies(chunk, current)) this.takeReply(piece);
      this.brake(this.server, this.toClient);
    });
    this.client.on("end", () => this.abandon());
    this.server.on("end", () => this.toClient.push(0, () => void this.client.end()));
    this.client.on("error", () => this.close());
    this.server.on("error", () => this.close());
    this.client.on("close", () => {
      this.abandon();
      this.toServer.push(0, () => void this.server.destroySoon());
    });
    this.server.on("close", () => this.toClient.push(0, () => this.close()));
  }

  /** The client is gone; what it sent before still arrives, unless it was held. */
  private abandon(): void {
    this.clientGone = true;
    for (const wake of this.goneWaiters) wake();
    this.goneWaiters.clear();
    this.toServer.push(0, () => void this.server.end());
  }

  private brake(source: Socket, lane: Lane): void {
    if (lane.bytes < QUEUED_BYTES_MAX) return;
    source.pause();
    lane.push(0, () => void source.resume());
  }

  private takeRequest(piece: Piece<RequestHead>): void {
    const at_ms = monotonicMs();
    const numbered = piece.head === null ? null : this.board.number(this.id, piece.head);
    if (numbered !== null) this.board.note("request", this.id, numbered.exchange, null, null);
    this.toServer.push(piece.bytes.length, async () => {
      if (numbered !== null) this.skipping = !(await this.admit(numbered.exchange, numbered.rule));
      if (this.skipping) return;
      await this.forward("to_server", at_ms, piece.bytes, this.server);
    });
  }

  /** Applies the rule to a request. False where it is not forwarded. */
  private async admit(exchange: Exchange, rule: Rule | null): Promise<boolean> {
    const action = rule?.action ?? null;
    if (action === null || rule === null) return this.expect(exchange, null);
    switch (action.kind) {
      case "hold_request":
        rule.markReached(exchange);
        return (await this.hold(exchange, rule, action.orphan === "deliver")) && this.expect(exchange, null);
      case "drop_request":
        rule.markReached(exchange);
        this.board.note("dropped", this.id, exchange, null, null);
        this.close();
        return false;
      case "fail":
        rule.markReached(exchange);
        this.board.note("failed", this.id, exchange, action.text, null);
        this.conversation.refused();
        this.expect(exchange, null, this.board.protocol.failure(action.text));
        return false;
      case "delay":
        rule.markReached(exchange);
        await new Promise((resolve) => setTimeout(resolve, action.request_ms));
        return this.expect(exchange, rule);
      default:
        return this.expect(exchange, rule);
    }
  }

  private expect(exchange: Exchange, rule: Rule | null, canned: Buffer | null = null): true {
    this.pending.push({ exchange, rule, canned, left: exchange.replies });
    if (canned === null) this.board.note("forwarded", this.id, exchange, null, null);
    this.answerCanned();
    return true;
  }

  /** True once released; false where the client went away first and the request is to go with it. */
  private async hold(exchange: Exchange, rule: Rule, deliverOrphan: boolean): Promise<boolean> {
    this.board.note("held", this.id, exchange, null, null);
    const released = rule.untilReleased();
    await (deliverOrphan ? released : Promise.race([released, this.untilGone()]));
    if (!this.closed && (deliverOrphan || !this.clientGone)) {
      this.board.note("released", this.id, exchange, null, null);
      return true;
    }
    this.board.note("dropped", this.id, exchange, null, null);
    this.close();
    return false;
  }

  private untilGone(): Promise<void> {
    if (this.clientGone || this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.goneWaiters.add(resolve);
    });
  }

  private takeReply(piece: Piece<ReplyHead>): void {
    const at_ms = monotonicMs();
    if (piece.push) {
      this.toClient.push(piece.bytes.length, () => this.forward("to_client", at_ms, piece.bytes, this.client));
      return;
    }
    if (piece.head !== null) this.current = this.pending[0] ?? null;
    const current = this.current;
    if (piece.head !== null && current !== null) {
      this.board.note("reply", this.id, current.exchange, piece.head.status, piece.bytes);
    }
    const first = piece.head !== null && current?.left === current?.exchange.replies;
    this.toClient.push(piece.bytes.length, () => this.answer(first ? current : null, at_ms, piece.bytes));
    if (piece.last && current !== null) this.finish(current);
  }

  private finish(current: Pending): void {
    current.left -= 1;
    if (current.left > 0) return;
    this.pending.shift();
    this.answerCanned();
  }

  private answerCanned(): void {
    for (let next = this.pending[0]; next !== undefined && next.canned !== null; next = this.pending[0]) {
      const { canned } = next;
      this.pending.shift();
      this.toClient.push(canned.length, () => this.forward("to_client", monotonicMs(), canned, this.client));
    }
  }

  /** Sends a piece of a reply; `starts` is set on the first piece of a reply that may have a rule. */
  private async answer(starts: Pending | null, at_ms: number, bytes: Buffer): Promise<void> {
    const rule = starts?.rule ?? null;
    if (starts === null || rule === null) return this.forward("to_client", at_ms, bytes, this.client);
    const { action } = rule;
    if (action.kind === "delay") {
      await new Promise((resolve) => setTimeout(resolve, action.reply_ms));
      return this.forward("to_client", at_ms, bytes, this.client);
    }
    rule.markReached(starts.exchange);
    if (action.kind === "hold_reply") {
      if (await this.hold(starts.exchange, rule, false)) await this.forward("to_client", at_ms, bytes, this.client);
      return;
    }
    this.board.note("dropped", this.id, starts.exchange, null, null);
    if (action.kind === "cut_reply")
      await this.forward("to_client", at_ms, bytes.subarray(0, action.bytes), this.client);
    if (action.kind === "drop_reply" && action.after === "keep") this.muted = true;
    else this.client.end(() => this.close());
  }

  private async forward(direction: Direction, at_ms: number, bytes: Buffer, target: Socket): Promise<void> {
    if (direction === "to_client" && this.muted) return;
    if (!(await this.board.line.passage(direction, at_ms))) {
      this.lossy = true;
      return;
    }
    if (target.destroyed || this.closed) return;
    await this.board.line.carry(bytes, (slice) => written(target, slice));
  }
}

function written(target: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    target.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
