// The client's address behind proxies. Only what a trusted proxy wrote counts: forwarding headers of other peers are
// not read at all, and the list of addresses is walked from the right, from the nearest proxy, as long as the
// addresses are trusted ones themselves. Anything further left may have been written by a client.

import { SluiceError, warn } from "../../base/errors.js";
import { drop } from "../../base/maybe-promise.js";
import { type CidrList, toCidrList } from "../../rules/identity-keys/cidr.js";
import { toBareAddress } from "../../rules/normalize/address.js";
import { type LastEntry, readForwardedFor } from "./forwarded.js";
import type { HttpRequest } from "./http-request.js";

/** Where proxies write the address of their client. */
export type ClientAddressSource<Raw = unknown> =
  | "x-forwarded-for"
  | "forwarded"
  /** A header with one address, such as `cf-connecting-ip` or `x-real-ip`. */
  | { readonly header: string }
  /** A function in code, of the framework's own request. If it throws, the request fails. */
  | ((raw: Raw) => string | undefined);

/** Which proxies are trusted. */
export interface ProxyTrust {
  /** Undefined: none. */
  readonly proxies: CidrList | undefined;
  /** Whether `trustedProxies` was given at all. */
  readonly isConfigured: boolean;
  /** Whether a peer that has no address is one: a Unix socket, or a platform that hides it. */
  readonly isUnaddressedTrusted: boolean;
}

/**
 * How many requests are checked for a proxy that is not configured. Not more, because Node parses the headers
 * of a request on demand, and not every handler reads them.
 */
const LOOKS_MAX = 1_000;

/** How many proxies in a row are read; beyond that, the last one read is the client. */
export const HOPS_MAX = 32;

/** Finds the addresses of clients. */
export class ClientAddresses {
  readonly #peers: ProxyTrust;
  readonly #source: ClientAddressSource;
  // Most requests come from the peer of the one before them.
  #latestPeer = "";
  #isLatestTrusted = false;
  /** How many more requests are checked for a proxy that is not configured. */
  #looksLeft: number;

  constructor(peers: ProxyTrust, source: ClientAddressSource) {
    this.#peers = peers;
    this.#source = source;
    this.#looksLeft = peers.isConfigured ? 0 : LOOKS_MAX;
  }

  /** Whether headers that name a client, a user or a host are trusted from this peer. */
  isTrusted(peer: string | undefined): boolean {
    const { proxies, isUnaddressedTrusted } = this.#peers;
    if (peer === undefined) return isUnaddressedTrusted;
    if (proxies === undefined) return false;
    if (peer !== this.#latestPeer) {
      this.#isLatestTrusted = proxies.has(peer);
      this.#latestPeer = peer;
    }
    return this.#isLatestTrusted;
  }

  /**
   * The client's address, without brackets and port. It is the nearest one that is not trusted; if
   * all are, the furthest. An entry that is blank, malformed, `unknown` or hidden ends the walk at
   * the address before it, which is the peer's if there is none. Undefined only if the peer has no
   * address and nothing else is known.
   */
  of(request: HttpRequest): string | undefined {
    const source = this.#source;
    if (typeof source === "function") return toAnswered(source(request.raw));
    const { peer } = request;
    if (!this.isTrusted(peer)) {
      if (this.#looksLeft > 0) this.#look(peer, request);
      return peer;
    }
    const headers = receivedBy(request);
    if (source === "x-forwarded-for") {
      return this.#walk(peer, joined(headers[source]), readListed);
    }
    if (source === "forwarded") return this.#walk(peer, joined(headers[source]), readForwardedFor);
    return toBareAddress(joined(headers[source.header])) ?? peer;
  }

  /** Warns of a proxy that is not trusted: all of its clients would be counted as one. */
  #look(peer: string | undefined, request: HttpRequest): void {
    this.#looksLeft--;
    if (peer === undefined || receivedBy(request)["x-forwarded-for"] === undefined) return;
    if (!NEIGHBOURS.has(peer)) return;
    this.#looksLeft = 0;
    warn("SLUICE_PROXY_UNTRUSTED", `${peer} sends X-Forwarded-For; see identity.trustedProxies`);
  }

  #walk(peer: string | undefined, text: string, readLast: ReadLast): string | undefined {
    let known = peer;
    let end = text.length;
    for (let hops = 0; hops < HOPS_MAX && end > 0; hops++) {
      const last = readLast(text, end);
      const address = last.text === undefined ? undefined : toBareAddress(last.text);
      if (address === undefined) break;
      known = address;
      if (this.#peers.proxies?.has(address) !== true) break;
      end = last.start - 1;
    }
    return known;
  }
}

const NEIGHBOURS = toCidrList(["loopback", "private"]);

/** The last entry of a list that is cut off at `end`. */
export type ReadLast = (text: string, end: number) => LastEntry;

function readListed(text: string, end: number): LastEntry {
  const start = text.lastIndexOf(",", end - 1) + 1;
  return { start, text: text.slice(start, end) };
}

/** What a function in code returned, which must not be a promise. */
function toAnswered(answer: unknown): string | undefined {
  if (answer === undefined || typeof answer === "string") return answer;
  drop(answer);
  // Its type only: the value may be private.
  const seen = `identity.clientAddress must return a string or undefined, not a promise; got ${typeof answer}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}

function receivedBy(request: HttpRequest): HttpRequest["headers"] {
  return request.received ?? request.headers;
}

/** Joins all lines of a header. The first of them alone may be what a client wrote. */
function joined(lines: string | readonly string[] | undefined): string {
  if (lines === undefined) return "";
  return typeof lines === "string" ? lines : lines.join(",");
}
