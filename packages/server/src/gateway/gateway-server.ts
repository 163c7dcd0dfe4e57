// The server of the gateway, with every bound that Node offers against slow, large and malformed requests.

import { createServer, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import type { GatewayConfig } from "../config/config.js";
import { type ProblemStatus, toRawProblem } from "./replies.js";
import { createTlsServer, type TlsOptions } from "./tls.js";

/** How often slow connections are looked for, at most; it is at least twice within their time. */
const SLOW_LOOK_MS_MAX = 1_000;

/** A server with the bounds of a configuration, over TLS if it says so. */
export function createGatewayServer(
  config: GatewayConfig,
  onReload: NonNullable<TlsOptions["onReload"]>,
): Server {
  const options = toServerOptions(config);
  const server =
    config.tls === undefined
      ? createServer(options)
      : createTlsServer(config.tls, options, { onReload }).server;
  // Node would drop fields beyond its count without a word. All of them are seen, and counted.
  server.maxHeadersCount = 0;
  server.maxConnections = config.connectionsMax;
  return server.on("clientError", answerClientError);
}

function toServerOptions(config: GatewayConfig): ServerOptions {
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
    // It is looked for with everything else that makes a request doubtful.
    requireHostHeader: false,
    noDelay: true,
  };
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
