// The process of one proxy, or of the upstream behind it: `proxies.js gateway 12345`. It sends its port to its
// parent process and serves until the parent exits. The gateway is the service as users run it, with one rule in
// memory; the reference is a proxy as in Node's documentation, with keep-alive connections and without limits.

import { Agent, createServer, request as openRequest } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Server } from "node:net";
import { type Config, startService, toConfig } from "sluice-server";

const LOOPBACK = { host: "127.0.0.1", port: 0 };
const CONNECTIONS_MAX = 256;
const BODY = JSON.stringify({ hello: "world" });

/** What a response looks like that comes through. */
export const ANSWER = [
  "HTTP/1.1 200 OK",
  "Content-Type: application/json",
  "Date: Sun, 15 Nov 2026 12:00:00 GMT",
  "Connection: keep-alive",
  "Keep-Alive: timeout=60",
  `Content-Length: ${BODY.length}`,
  "",
  BODY,
].join("\r\n");

const sides = {
  /** As fast as can be, so that it is never what is measured. */
  upstream: () => listen(createNetServer({ noDelay: true }, answerImmediately)),
  /** No proxy at all: the smallest server that node:http can be. */
  hello: () => listen(createServer((_request, response) => response.end(BODY))),
  node: (upstream: number) => listen(proxyByNode(upstream)),
  gateway: (upstream: number) => serve(upstream, 1_000_000_000, "problem"),
  refusing: (upstream: number) => serve(upstream, 1, "problem"),
  minimal: (upstream: number) => serve(upstream, 1, "minimal"),
} as const satisfies Record<string, (upstream: number) => Promise<number>>;

/** The name of a side. */
export type ProxySide = keyof typeof sides;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.send(await sides[process.argv[2] as ProxySide](Number(process.argv[3])));
}

/** Answers every request head with the same bytes; requests have no bodies. */
function answerImmediately(socket: import("node:net").Socket): void {
  let begun = "";
  socket.setEncoding("latin1");
  socket.on("error", () => {});
  socket.on("data", (piece: string) => {
    const heads = (begun + piece).split("\r\n\r\n");
    begun = heads.pop() ?? "";
    for (let i = 0; i < heads.length; i++) socket.write(ANSWER, "latin1");
  });
}

function proxyByNode(port: number): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  return createServer((request, response) => {
    const { method, url: path, headers } = request;
    const asked = openRequest({ host: LOOPBACK.host, port, agent, method, path, headers });
    asked.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.on("error", () => response.destroy());
    request.pipe(asked);
  });
}

async function serve(port: number, limit: number, body: "problem" | "minimal"): Promise<number> {
  const { listeners } = await startService(toService(port, limit, body));
  const gateway = listeners.find(({ name }) => name === "gateway");
  if (gateway === undefined) throw new Error("the service has no gateway");
  return Number(new URL(gateway.url).port);
}

/** The rule never refuses, or after the first request until it is all over. */
function toService(port: number, limit: number, body: "problem" | "minimal"): Config {
  const rule = { id: "all", key: "ip", limit: { fixedWindow: { limit, windowMs: 86_400_000 } } };
  return toConfig({
    server: { drainMs: 1_000 },
    gateway: { listen: `${LOOPBACK.host}:0` },
    admin: { listen: `${LOOPBACK.host}:0` },
    upstreams: {
      app: {
        backends: [`http://${LOOPBACK.host}:${port}`],
        connectionsMax: CONNECTIONS_MAX,
      },
    },
    routes: [{ path: "/*", upstream: "app" }],
    responses: { body },
    rules: { version: 1, rules: [rule] },
    telemetry: { logLevel: "silent" },
  });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, LOOPBACK.host, () => resolve((server.address() as AddressInfo).port));
  });
}
