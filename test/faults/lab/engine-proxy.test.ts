import { mkdtempSync, rmSync } from "node:fs";
import { Agent, createServer, request, type Server } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { engineCall } from "../../support/engine-call.js";
import { worldEngineSocket } from "./given-world.js";
import { dropReply, type FaultProxy, fail, holdReply, startEngineProxy } from "./proxy.js";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "hf-proxy-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function engineSetup(socket = worldEngineSocket()): Promise<{ proxy: FaultProxy; listen: string }> {
  const listen = join(scratch(), "engine.sock");
  const proxy = await startEngineProxy({ socket, listen });
  closers.push(() => proxy.close());
  return { proxy, listen };
}

describe("the proxy before the engine", () => {
  it("passes calls with and without bodies, and logs path and status", async () => {
    const { proxy, listen } = await engineSetup();

    expect((await engineCall(listen, "GET", "/_ping")).status).toBe(200);
    expect((await engineCall(listen, "GET", "/v1.41/containers/json?all=1")).status).toBe(200);
    expect((await engineCall(listen, "POST", "/v1.41/containers/create", { Image: "no/such:image" })).status).toBe(404);

    const replies = proxy.log.filter((entry) => entry.phase === "reply");
    expect(replies.map((entry) => `${entry.name} ${entry.detail} ${entry.status}`)).toEqual([
      "GET /_ping 200",
      "GET /containers/json 200",
      "POST /containers/create 404",
    ]);
  });

  it("answers 500 once, then passes", async () => {
    const { proxy, listen } = await engineSetup();
    proxy.on({ command: "GET", path: /^\/containers\/json$/ }, fail("trouble"));
    const path = "/v1.41/containers/json";

    expect(await engineCall(listen, "GET", path)).toEqual({ status: 500, body: { message: "trouble" } });
    expect((await engineCall(listen, "GET", path)).status).toBe(200);
  });

  it("answers 500 to an attach, and the connection is good for the next call", async () => {
    const { proxy, listen } = await engineSetup();
    proxy.on({ path: /\/attach$/ }, fail("trouble"));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    closers.push(() => agent.destroy());
    const status = (method: string, path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = path.includes("attach") ? { Connection: "Upgrade", Upgrade: "tcp" } : {};
        const call = request({ socketPath: listen, method, path, agent, headers }, (reply) => {
          reply.resume().on("end", () => resolve(reply.statusCode));
        });
        call.on("error", reject).end();
      });

    expect(await status("POST", "/containers/a/attach")).toBe(500);
    expect(await status("GET", "/_ping")).toBe(200);
  });

  it("holds and drops replies of the engine", async () => {
    const { proxy, listen } = await engineSetup();
    proxy.on({ path: /^\/version$/ }, dropReply());
    const silent = proxy.on({ path: /^\/info$/ }, dropReply("keep"));
    const held = proxy.on({ path: /^\/_ping$/ }, holdReply());

    await expect(engineCall(listen, "GET", "/version")).rejects.toThrow();
    await expect(engineCall(listen, "GET", "/info", undefined, 300)).rejects.toThrow();
    const ping = engineCall(listen, "GET", "/_ping");
    await held.reached(2_000);
    held.release();

    expect((await ping).status).toBe(200);
    expect(silent.hits).toHaveLength(1);
  });

  it("gives a stream of events as it comes", async () => {
    const { listen } = await engineSetup();
    const now = Math.floor(Date.now() / 1000);
    const path = `/v1.41/events?since=${now}&until=${now + 1}`;

    expect((await engineCall(listen, "GET", path)).status).toBe(200);
  });

  it("carries a hijacked stream both ways and keeps its two ends apart", async () => {
    const target = join(scratch(), "target.sock");
    const server = await echoServer(target);
    closers.push(() => server.close());
    const { listen } = await engineSetup(target);

    const stream = await hijack(listen);
    const heard: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => heard.push(chunk));
    const ended = new Promise((resolve) => stream.on("end", resolve));
    stream.write("POST / HTTP/1.1\r\n\r\n");
    stream.end("x".repeat(100_000));
    await ended;

    expect(Buffer.concat(heard).length).toBe("POST / HTTP/1.1\r\n\r\n".length + 100_000 + "bye".length);
  });
});

/** Gives everything back and says `bye` only after the other side has ended its half. */
async function echoServer(path: string): Promise<Server> {
  const server = createServer();
  server.on("upgrade", (_, socket: Socket) => {
    socket.allowHalfOpen = true;
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    socket.on("data", (chunk) => socket.write(chunk));
    socket.on("end", () => socket.end("bye"));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return server;
}

function hijack(socketPath: string): Promise<Socket> {
  const headers = { Connection: "Upgrade", Upgrade: "tcp" };
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method: "POST", path: "/containers/a/attach?stream=1", headers });
    call.on("upgrade", (_, socket) => resolve(socket));
    call.on("error", reject);
    call.end();
  });
}
