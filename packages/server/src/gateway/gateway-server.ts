// The server of the gateway, with every bound that Node offers against slow, large and malformed requests.

import { createServer, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import type { GatewayConfig } from "../config/config.js";
import { type ProblemStatus, toRawProblem } from "./replies.js";

/** How often slow connections are looked for, at most; it is at least twice within their time. */
const SLOW_LOOK_MS_MAX = 1_000;

/** The options of a server that keeps the bounds of a configuration. */
export function toServerOptions(config: GatewayConfig): ServerOptions {
  const { headerBytesMax, headersTimeoutMs, requestTimeoutMs, keepAliveMs } = config;
  const isBounded = requestTimeoutMs > 0 && requestTimeoutMs < headersTimeoutMs;
  const headersTimeout = isBounded ? requestTimeoutMs : headersTimeoutMs;
  return {
    maxHeaderSize: headerBytesMax,
    headersTimeout,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(SLOW_LOOK_MS_MAX, Math.ceil(headersTimeout / 2)),
    insecureHTTPParser: false,
    requireHostHeader: false,
    noDelay: true,
  };
}

/** A server of these options; {@link setBounds} does what options can't. */
export function createGatewayServer(config: GatewayConfig): Server {
  return setBounds(createServer(toServerOptions(config)), config);
}

/** Sets the bounds of a server that are not options, and how it answers what is no request. */
export function setBounds<T extends Server>(server: T, { connectionsMax }: GatewayConfig): T {
  // Node would drop fields beyond its count without a word. All of them are seen, and counted.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  server.on("clientError", answerClientError);
  return server;
}

type Broken = Socket & { _httpMessage?: { headersSent: boolean } | null };

/** Answers what Node's parser does not understand, or what takes too long, and ends its connection. */
function answerClientError(error: NodeJS.ErrnoException, socket: Broken): void {
  // In the middle of a response another one would be taken for a part of it.
  const isInResponse = socket._httpMessage?.headersSent === true;
  if (!socket.writable || isInResponse || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  socket.end(toRawProblem(toStatus(error.code)), () => socket.destroy());
}

function toStatus(code: string | undefined): ProblemStatus {
  if (code === "HPE_HEADER_OVERFLOW" || code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return 431;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
}
