// The head of a forwarded request. Caches the joined headers per connection, for the backend that they last went to.

import { type Exchange, FieldsMemoKey } from "sluice-http1";
import type { RouteConfig } from "../../config/config.js";
import { toUpstreamFields } from "./forwarded-headers.js";

/** What the gateway knows about its clients. */
export interface ClientTrust {
  readonly protocol: "http" | "https";
  /** Whether the peer at this address is trusted to speak for the client. */
  isPeerTrusted(peer: string | undefined): boolean;
}

/** The headers of a request, joined for one backend. */
interface Known {
  readonly route: RouteConfig;
  readonly backendHost: string;
  readonly lines: string;
}

const linesKey = new FieldsMemoKey<Known>();

/**
 * The whole head of a request, as one string of which each character is a byte.
 *
 * @param backendHost - `host:port` of the backend.
 */
export function toUpstreamHead(
  exchange: Exchange,
  route: RouteConfig,
  backendHost: string,
  trust: ClientTrust,
): string {
  const { fields } = exchange;
  if (exchange.asksForWebSocket) {
    return toHead(exchange, toLines(exchange, route, backendHost, trust, "websocket"));
  }
  // These headers belong to one connection, so the client's address is the same too.
  let known = fields.recall(linesKey);
  if (known === undefined || known.route !== route || known.backendHost !== backendHost) {
    known = { route, backendHost, lines: toLines(exchange, route, backendHost, trust) };
    fields.remember(linesKey, known);
  }
  return toHead(exchange, known.lines);
}

function toHead({ method, target }: Exchange, lines: string): string {
  return `${method} ${target} HTTP/1.1\r\n${lines}`;
}

function toLines(
  { fields, peer: clientPeer }: Exchange,
  route: RouteConfig,
  backendHost: string,
  trust: ClientTrust,
  upgrade?: string,
): string {
  return toUpstreamFields(fields.raw, {
    route,
    backendHost,
    clientPeer,
    isPeerTrusted: trust.isPeerTrusted(clientPeer),
    protocol: trust.protocol,
    bodyFraming: fields.framing,
    upgrade,
  });
}
