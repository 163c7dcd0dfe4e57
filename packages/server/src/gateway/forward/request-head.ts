// The head of a request on its way to the upstream. What a client sends again and again is put together
// once: for its fields as they were read, and for the backend that they went to last.

import type { Exchange } from "sluice-http1";
import type { RouteConfig } from "../../config/config.js";
import { toUpstreamFields } from "./forwarded-headers.js";

/** What the gateway knows of its clients. */
export interface ClientTrust {
  readonly protocol: "http" | "https";
  /** Whether what the peer at this address says about the client is believed. */
  isPeerTrusted(peer: string | undefined): boolean;
}

/** The fields of an exchange, for one backend. */
interface Known {
  readonly route: RouteConfig;
  readonly targetHost: string;
  readonly lines: string;
}

/**
 * The whole head of a request, as one text of which each character is a byte.
 *
 * @param targetHost - `host:port` of the server that it goes to.
 */
export function toUpstreamHead(
  exchange: Exchange,
  route: RouteConfig,
  targetHost: string,
  trust: ClientTrust,
): string {
  const { fields } = exchange;
  if (exchange.asksForWebSocket) {
    return toHead(exchange, toLines(exchange, route, targetHost, trust, "websocket"));
  }
  // A client's fields are its connection's, so that its address is the same too.
  let known = fields.memo as Known | undefined;
  if (known === undefined || known.route !== route || known.targetHost !== targetHost) {
    known = { route, targetHost, lines: toLines(exchange, route, targetHost, trust) };
    fields.memo = known;
  }
  return toHead(exchange, known.lines);
}

function toHead({ method, target }: Exchange, lines: string): string {
  return `${method} ${target} HTTP/1.1\r\n${lines}`;
}

function toLines(
  { fields, peer: clientPeer }: Exchange,
  route: RouteConfig,
  targetHost: string,
  trust: ClientTrust,
  upgrade?: string,
): string {
  return toUpstreamFields(fields.raw, {
    route,
    targetHost,
    clientPeer,
    isPeerTrusted: trust.isPeerTrusted(clientPeer),
    protocol: trust.protocol,
    bodyFraming: fields.framing,
    upgrade,
  });
}
