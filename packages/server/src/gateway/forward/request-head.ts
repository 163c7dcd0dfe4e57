// The head of a request on its way to the upstream. What a client sends again and again is put together
// once: for its fields as they were read, and for the target that they went to last.

import type { RouteConfig } from "../../config/config.js";
import type { Turn } from "../../http1/exchange.js";
import { toUpstreamFields } from "./forwarded-headers.js";

/** What the gateway knows of its clients. */
export interface ClientTrust {
  readonly protocol: "http" | "https";
  /** Whether what the peer at this address says about the client is believed. */
  isPeerTrusted(peer: string | undefined): boolean;
}

/** The fields of a turn, for one target. */
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
  turn: Turn,
  route: RouteConfig,
  targetHost: string,
  trust: ClientTrust,
): string {
  const { fields } = turn;
  if (turn.asksForWebSocket) {
    return toHead(turn, toLines(turn, route, targetHost, trust, "websocket"));
  }
  // A client's fields are its connection's, so that its address is the same too.
  let known = fields.memo as Known | undefined;
  if (known === undefined || known.route !== route || known.targetHost !== targetHost) {
    known = { route, targetHost, lines: toLines(turn, route, targetHost, trust) };
    fields.memo = known;
  }
  return toHead(turn, known.lines);
}

function toHead({ method, target }: Turn, lines: string): string {
  return `${method} ${target} HTTP/1.1\r\n${lines}`;
}

function toLines(
  { fields, peer: clientPeer }: Turn,
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
