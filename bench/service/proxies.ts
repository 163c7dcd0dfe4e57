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

/** An event of a stream, as language models send them. */
const EVENT = `data: ${JSON.stringify({
  id: "chatcmpl-123",
  object: "chat.completion.chunk",
  created: 1_694_268_190,
  model: "gpt-4o-mini",
  system_fingerprint: "fp_44709d6fcb",
  choices: [{ index: 0, delta: { content: " rain" }, logprobs: null, finish_reason: null }],
  usage: null,
})}\n\n`;
const STREAM_BYTES = 65_536;
const EVENTS = [
  ...new Array<string>(Math.floor(STREAM_BYTES / EVENT.length)).fill(EVENT),
  EVENT.replace("null}\n", '{"prompt_tokens":19,"completion_tokens":270,"total_tokens":289}}\n'),
  "data: [DONE]\n\n",
];

/** A stream of 64 KB, each event a chunk as it is sent when a token is there. */
const STREAM = [
  "HTTP/1.1 200 OK",
  "Content-Type: text/event-stream",
  "Transfer-Encoding: chunked",
  "",
  ...EVENTS.map((event) => `${event.length.toString(16)}\r\n${event}`),
  "0\r\n\r\n",
].join("\r\n");

/** The same stream in one piece. */
const WHOLE_STREAM = [
  "HTTP/1.1 200 OK",
  "Content-Type: text/event-stream",
  `Content-Length: ${EVENTS.join("").length}`,
  "",
  EVENTS.join(""),
].join("\r\n");

/** Reserves tokens, and settles them by the response. */
const SETTLE = { cost: 1_000, settle: { json: "usage.total_tokens" } };

/** Blocks the caller after its first refusal. */
const ESCALATE = { escalate: { after: "1 refusal in 1m", blocks: ["1d"] } };

const sides = {
  /** As fast as can be, so that it is never what is measured. */
  upstream: () => listen(createNetServer({ noDelay: true }, answerImmediately)),
  /** No proxy at all: the smallest server that node:http can be. */
  hello: () => listen(createServer((_request, response) => response.end(BODY))),
  node: (upstream: number) => listen(proxyByNode(upstream)),
  gateway: (upstream: number) => serve(upstream, 1_000_000_000, "problem"),
  settling: (upstream: number) => serve(upstream, 1_000_000_000, "problem", SETTLE),
  refusing: (upstream: number) => serve(upstream, 1, "problem"),
  blocked: (upstream: number) => serve(upstream, 1, "problem", ESCALATE),
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
    for (const head of heads) socket.write(answerOf(head), "latin1");
  });
}

function answerOf(head: string): string {
  if (head.startsWith("GET /stream ")) return STREAM;
  return head.startsWith("GET /whole-stream ") ? WHOLE_STREAM : ANSWER;
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

async function serve(
  port: number,
  limit: number,
  body: "problem" | "minimal",
  more: object = {},
): Promise<number> {
  const { listeners } = await startService(toService(port, limit, body, more));
  const gateway = listeners.find(({ name }) => name === "gateway");
  if (gateway === undefined) throw new Error("the service has no gateway");
  return Number(new URL(gateway.url).port);
}

/** The rule never refuses, or after the first request until it is all over. */
function toService(port: number, limit: number, body: "problem" | "minimal", more: object): Config {
  const window = { fixedWindow: { limit, windowMs: 86_400_000 } };
  const rule = { id: "all", key: "ip", limit: window, ...more };
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
