import { describe, expect, it } from "vitest";
import { judgeAccess } from "./operator-access.js";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const local = { host: "127.0.0.1:7070" };

describe("the board without a password", () => {
  it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.9.10"])("opens to the loopback socket %s", (address) => {
    expect(judgeAccess({ headers: local, socket_address: address }, undefined)).toEqual({ kind: "allowed" });
  });

  it.each(["10.0.0.7", "192.168.1.2", "::ffff:10.0.0.7", "fe80::1", "127.0.0.1.evil", undefined])(
    "stays closed to the socket %s",
    (address) => {
      const access = judgeAccess({ headers: local, socket_address: address }, undefined);

      expect(access).toMatchObject({ kind: "refused", status: 403 });
    },
  );

  it.each(["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded", "via"])(
    "stays closed to a request that bears %s, since a proxy's socket is loopback too",
    (header) => {
      const headers = { ...local, [header]: "127.0.0.1" };

      expect(judgeAccess({ headers, socket_address: "127.0.0.1" }, undefined)).toMatchObject({ status: 403 });
    },
  );

  it.each(["evil.example", "127.0.0.1.evil.example:7070", "localhost.evil.example", "localhost:7070@evil", undefined])(
    "stays closed to the host name %s, which may be rebound to loopback",
    (host) => {
      const headers = host === undefined ? {} : { host };

      expect(judgeAccess({ headers, socket_address: "127.0.0.1" }, undefined)).toMatchObject({ status: 403 });
    },
  );

  it.each(["localhost", "LOCALHOST:7070", "[::1]:7070"])("opens to the host name %s", (host) => {
    expect(judgeAccess({ headers: { host }, socket_address: "::1" }, undefined)).toEqual({ kind: "allowed" });
  });
});

describe("the board with a password", () => {
  const password = "correct horse battery";

  it("opens to the operator from anywhere", () => {
    const headers = { authorization: basic(`operator:${password}`), host: "fleet.example" };

    expect(judgeAccess({ headers, socket_address: "10.0.0.7" }, password)).toEqual({ kind: "allowed" });
  });

  it.each([
    ["no header", undefined],
    ["another password", basic("operator:correct horse batterz")],
    ["a prefix of the password", basic("operator:correct")],
    ["another user", basic(`admin:${password}`)],
    ["no user", basic(password)],
    ["another scheme", `Bearer ${password}`],
    ["what is no base64", "Basic %%%"],
  ])("answers 401 to %s, also from loopback", (_what, authorization) => {
    const headers = authorization === undefined ? local : { ...local, authorization };

    expect(judgeAccess({ headers, socket_address: "127.0.0.1" }, password)).toMatchObject({ status: 401 });
  });
});
