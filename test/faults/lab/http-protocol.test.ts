import { describe, expect, it } from "vitest";
import { httpProtocol } from "./http-protocol.js";
import type { Piece } from "./wire.js";

function inSlices<Head>(text: string, size: number, push: (chunk: Buffer) => Piece<Head>[]): Piece<Head>[] {
  const bytes = Buffer.from(text);
  const pieces: Piece<Head>[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(...push(bytes.subarray(at, at + size)));
  return pieces;
}

function joined<Head>(pieces: Piece<Head>[]): string {
  return Buffer.concat(pieces.map((piece) => piece.bytes)).toString();
}

describe("the engine's HTTP as the proxy sees it", () => {
  it("finds requests with and without a body wherever the stream is cut", () => {
    const text = [
      "GET /v1.41/containers/json?all=1 HTTP/1.1\r\nHost: d\r\n\r\n",
      "POST /v1.41/containers/create?name=a HTTP/1.1\r\nHost: d\r\nContent-Length: 7\r\n\r\nGET / a",
      "POST /build HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
      "DELETE /containers/a HTTP/1.1\r\n\r\n",
    ].join("");

    for (let size = 1; size < 90; size += 1) {
      const conversation = httpProtocol().open();
      const pieces = inSlices(text, size, (chunk) => conversation.requests(chunk));
      const heads = pieces.flatMap((piece) => (piece.head === null ? [] : [`${piece.head.name} ${piece.head.detail}`]));

      expect(heads).toEqual(["GET /containers/json", "POST /containers/create", "POST /build", "DELETE /containers/a"]);
      expect(pieces.filter((piece) => piece.last)).toHaveLength(4);
      expect(joined(pieces)).toBe(text);
    }
  });

  it("finds replies by length, in chunks, without a body, and endless ones", () => {
    const text = [
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK",
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nendless HTTP/1.1 200 OK\r\n\r\n",
    ].join("");

    for (let size = 1; size < 90; size += 1) {
      const conversation = httpProtocol().open();
      const pieces = inSlices(text, size, (chunk) => conversation.replies(chunk, () => null));

      expect(pieces.flatMap((piece) => piece.head?.status ?? [])).toEqual(["100", "200", "204", "200", "200"]);
      expect(pieces.filter((piece) => piece.last && !piece.push)).toHaveLength(3);
      expect(joined(pieces)).toBe(text);
    }
  });

  it("lets an attached stream run raw, and reads on where the engine declines it", () => {
    const attach = "POST /containers/a/attach?stdin=1 HTTP/1.1\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n";
    const taken = httpProtocol().open();
    const declined = httpProtocol().open();

    for (const conversation of [taken, declined]) conversation.requests(Buffer.from(attach));
    taken.replies(Buffer.from("HTTP/1.1 101 UPGRADED\r\n\r\n"), () => null);
    declined.replies(Buffer.from("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), () => null);
    const get = Buffer.from("GET /_ping HTTP/1.1\r\n\r\n");

    expect(taken.requests(get)).toEqual([{ bytes: get, head: null, last: false, push: false }]);
    expect(declined.requests(get)[0]?.head?.detail).toBe("/_ping");
  });
});
