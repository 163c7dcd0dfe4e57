// The same service over plain HTTP, as envoyproxy/ratelimit has it beside gRPC: `POST /json` for people and
// scripts, `/healthcheck` for load balancers. Like there, any type of body is taken as JSON, so that curl
// needs no Content-Type header; the headers that browsers add keep web pages out.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { atEndOfTurn, every } from "../../base/clock.js";
import { GrowingBuffer } from "../../base/http/growing-buffer.js";
import type { ListenAddress } from "../../base/http/listen.js";
import { listenAt } from "../../base/http/listen.js";
import { isLoopback } from "../../base/http/loopback.js";
import { inTurn } from "../../base/http/pipelined-requests.js";
import { isLocalHost, isOfPage } from "../../base/http/web-page.js";
import type { Decider } from "../decider.js";
import type { Health } from "../grpc/health.js";
import { MESSAGE_BYTES_MAX } from "../grpc/message.js";
import { CODE, type RateLimitResponse } from "../messages.js";
import { toJson, toRequest } from "./json.js";

/** Until a whole request has to be there. */
const REQUEST_MS_MAX = 10_000;
const KEEP_ALIVE_MS = 65_000;
/** The most connections at a time, as for gRPC; further ones are closed. */
const CONNECTIONS_MAX = 10_000;
/** How often a server that drains closes connections that have become idle. */
const IDLE_LOOK_MS = 250;

/** An HTTP server that listens. */
export interface HttpListener {
  readonly url: string;
  stopListening(): void;
  drain(): Promise<void>;
  close(): void;
}

/** Opens the HTTP server. */
export async function openHttp(
  listen: ListenAddress,
  decider: Decider,
  health: Health,
  connectionsMax: number = CONNECTIONS_MAX,
): Promise<HttpListener> {
  const context: Context = { decider, health, isLocal: isLoopback(listen.host), isDraining: false };
  const server = createServer((request, response) =>
    inTurn(request, response, () => answer(request, response, context)),
  );
  // By default, Node silently drops headers beyond a maximum.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  server.requestTimeout = REQUEST_MS_MAX;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const url = `http://${await listenAt(server, listen, "envoy.http")}`;
  return {
    url,
    // The server's own `close` would close idle connections immediately.
    stopListening: () => void NetServer.prototype.close.call(server),
    drain: async () => {
      context.isDraining = true;
      const closed = once(server, "close");
      NetServer.prototype.close.call(server);
      // Not immediately, and at the end of a turn: a request may be on its way on a connection that looks idle.
      const closeIdle = () => server.closeIdleConnections();
      const stopLooking = every(IDLE_LOOK_MS, () => atEndOfTurn(closeIdle));
      await closed;
      stopLooking();
      // Ends what watches over slow requests.
      server.close();
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Context {
  readonly decider: Decider;
  readonly health: Health;
  /** Whether only programs of this machine can ask: no name of elsewhere leads here but by deceit. */
  readonly isLocal: boolean;
  isDraining: boolean;
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { decider, health, isLocal, isDraining }: Context,
): void {
  const path = request.url?.split("?", 1)[0];
  // A connection that stays open would keep a drain waiting.
  if (isDraining) response.setHeader("Connection", "close");
  if (path === "/healthcheck") sendHealth(response, health);
  else if (path !== "/json") send(response, 404, "no such path");
  else if (request.method !== "POST") send(response, 405, "ask with POST");
  else if (isOfPage(request.headers)) send(response, 403, "web pages may not ask");
  else if (isLocal && !isLocalHost(request.headers.host)) {
    send(response, 403, "the Host must be an address or localhost");
  } else {
    readBody(request).then(
      (body) => decide(body, response, decider),
      () => send(response.setHeader("Connection", "close"), 413, "the body is too large"),
    );
  }
}

function sendHealth(response: ServerResponse, { isServing }: Health): void {
  send(response, isServing ? 200 : 500, isServing ? "OK" : "draining");
}

function decide(body: string, response: ServerResponse, decider: Decider): void {
  decider.decide(() => toRequest(body), {
    answered: (decision) => sendDecision(response, decision),
    failed: (why, isTheirs) => send(response, isTheirs ? 400 : 500, why),
  });
}

function sendDecision(response: ServerResponse, decision: RateLimitResponse): void {
  for (const { key, value } of decision.responseHeaders) response.setHeader(key, value);
  const status = decision.overallCode === CODE.overLimit ? 429 : 200;
  send(response, status, toJson(decision), "application/json");
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
  });
  response.end(body);
}

/** The whole body; rejects if it is too large or does not come. */
async function readBody(request: IncomingMessage): Promise<string> {
  const body = new GrowingBuffer();
  for await (const piece of request as AsyncIterable<Buffer>) {
    if (body.length + piece.length > MESSAGE_BYTES_MAX) throw new Error("too large");
    body.add(piece);
  }
  return body.bytes.toString("utf8");
}
