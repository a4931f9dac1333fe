/** The engine's HTTP API as the proxy sees it: method and path; attach and exec streams are raw after their head. */
import { type Body, bodyOf, MessageCutter, type MessageHead } from "./http-message.js";
import type { Conversation, Piece, Protocol, ReplyHead, RequestHead } from "./wire.js";

const NO_BODY = new Set(["204", "304"]);
const HIJACK = /^POST .*\/(attach|exec\/[^/]+\/start)(\?| )/;

function requestHead(head: MessageHead): RequestHead {
  const [name = "", target = ""] = head.start.split(" ");
  const path = (target.split("?")[0] ?? "").replace(/^\/v[0-9.]+(?=\/)/, "");
  return { name, detail: path, args: [target], replies: 1 };
}

function statusOf(head: MessageHead): string {
  return head.start.split(" ")[1] ?? "";
}

/** Such as `100 Continue`: the reply itself is still to come. */
function isInterim(status: string): boolean {
  return status.startsWith("1") && status !== "101";
}

class EngineConversation implements Conversation {
  private readonly sent = new MessageCutter((head) => {
    const body = bodyOf(head, { kind: "none" });
    if (!HIJACK.test(head.start) && !head.headers.has("upgrade")) return body;
    return { kind: "hijack", bytes: body.kind === "length" ? body.bytes : 0 };
  });
  private readonly received = new MessageCutter((head) => this.replyBody(head));
  private current: RequestHead | null = null;

  requests(chunk: Buffer): Piece<RequestHead>[] {
    return this.sent.push(chunk).map((part) => ({ ...part, head: part.head && requestHead(part.head), push: false }));
  }

  replies(chunk: Buffer, current: () => RequestHead | null): Piece<ReplyHead>[] {
    this.current = current();
    return this.received.push(chunk).map((part) => {
      const head = part.head && { status: statusOf(part.head) };
      return { ...part, head, push: head !== null && isInterim(head.status) };
    });
  }

  refused(): void {
    this.sent.declineHijack();
  }

  private replyBody(head: MessageHead): Body {
    const status = statusOf(head);
    if (isInterim(status)) return { kind: "none" };
    if (status === "101") return { kind: "endless" };
    const bare = NO_BODY.has(status) || this.current?.name === "HEAD";
    const body: Body = bare ? { kind: "none" } : bodyOf(head, { kind: "endless" });
    if (body.kind !== "endless") this.sent.declineHijack();
    return body;
  }
}

export function httpProtocol(): Protocol {
  return {
    open: () => new EngineConversation(),
    failure: (text) => {
      const [, status = "500", message = text] = /^([45][0-9][0-9]) (.*)$/.exec(text) ?? [];
      const body = JSON.stringify({ message });
      const head = [`HTTP/1.1 ${status} Failure`, "Content-Type: application/json"];
      return Buffer.from(`${head.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    },
  };
}
