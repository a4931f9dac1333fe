import { describe, expect, it } from "vitest";
import { bulkArguments, FrameCutter } from "./resp-frames.js";
import { respProtocol, sha1 } from "./resp-protocol.js";

const VALUES = [
  "+OK\r\n",
  "-ERR no\r\n",
  ":12\r\n",
  "$5\r\na\r\nbc\r\n",
  "$-1\r\n",
  "$0\r\n\r\n",
  "*0\r\n",
  "*-1\r\n",
  "*2\r\n*1\r\n:1\r\n$3\r\nfoo\r\n",
  "%1\r\n+key\r\n*1\r\n:2\r\n",
  ">2\r\n+message\r\n+hello\r\n",
  "|1\r\n+ttl\r\n:3\r\n+described\r\n",
  "_\r\n",
  "#t\r\n",
  ",1.5\r\n",
  "=6\r\ntxt:ab\r\n",
];

describe("the borders of RESP values", () => {
  it("are found wherever the stream is cut", () => {
    const stream = Buffer.from(VALUES.join(""));

    for (let size = 1; size < stream.length; size += 1) {
      const cutter = new FrameCutter();
      const found: string[] = [];
      for (let at = 0; at < stream.length; at += size) {
        for (const frame of cutter.push(stream.subarray(at, at + size))) found.push(frame.toString());
      }
      expect(found).toEqual(VALUES);
    }
  });

  it("reads arguments and cuts long ones", () => {
    const frame = Buffer.from("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n");

    expect(bulkArguments(frame, 3, 3)).toEqual(["SET", "k", "val"]);
    expect(bulkArguments(Buffer.from("+OK\r\n"), 3, 3)).toBeNull();
  });
});

function command(...words: string[]): Buffer {
  return Buffer.from(`*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`);
}

describe("Redis as the proxy sees it", () => {
  it("names a script by its hash and by its text", () => {
    const names = (sha: string) => (sha === sha1("return 1") ? "one" : null);
    const conversation = respProtocol(names).open();

    const found = conversation.requests(
      Buffer.concat([command("evalsha", sha1("return 1"), "0"), command("eval", "return 1", "0"), command("ping")]),
    );

    expect(found.map((piece) => [piece.head?.name, piece.head?.detail])).toEqual([
      ["EVALSHA", "one"],
      ["EVAL", "one"],
      ["PING", null],
    ]);
  });

  it("tells the confirmations of a subscription from what is published", () => {
    const conversation = respProtocol().open();
    const [subscription] = conversation.requests(command("subscribe", "a", "b"));
    const confirmation = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n";
    const message = "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n";

    const found = conversation.replies(Buffer.from(confirmation + message + confirmation), () => null);

    expect(subscription?.head?.replies).toBe(2);
    expect(found.map((piece) => piece.push)).toEqual([false, true, false]);
  });
});
