// The client's address as Fastify's own `trustProxy` finds it. With `trustProxy: true` any client may
// write its own, and Fastify does not expose the setting, so it is found out by asking for the address of a
// request that was made up.

import type { FastifyRequest } from "fastify";
import { SluiceError } from "../../../base/errors.js";
import { toBareAddress, toClientAddress } from "../../../rules/normalize/address.js";

/** More proxies than any client is behind. All are addresses for documentation. */
const CLAIMED = Array.from({ length: 64 }, (_, i) => `192.0.2.${i + 1}`);
const MADE_UP = {
  headers: { "x-forwarded-for": CLAIMED.join(", ") },
  socket: { remoteAddress: "198.51.100.1" },
};

/** Prototypes of requests, one for each scope, and whether their application looks behind the peer at all. */
const looksBehind = new WeakMap<object, boolean>();
// Most requests are of the same scope as the one before them.
let latestKind: object | undefined;
let isLatestBehind = true;

/** The address of the client; undefined over a Unix socket. Throws if the application lets every client write its own. */
export function addressOf(request: FastifyRequest): string | undefined {
  const kind = Object.getPrototypeOf(request) as object;
  if (kind !== latestKind) {
    isLatestBehind = isBehind(kind);
    latestKind = kind;
  }
  const peer = request.raw.socket.remoteAddress;
  if (!isLatestBehind) return peer;
  const { ip } = request;
  // Some proxies write the port as well.
  return ip === peer ? ip : (toBareAddress(ip) ?? ip);
}

/** Without `trustProxy` requests have no `ips`, and their `ip` is that of the peer. */
function isBehind(kind: object): boolean {
  const known = looksBehind.get(kind);
  if (known !== undefined) return known;
  const { ip, ips } = Object.create(kind, { raw: { value: MADE_UP } }) as FastifyRequest;
  if (ip === CLAIMED[0]) {
    throw new SluiceError(
      "SLUICE_OPTION_INVALID",
      "rateLimit: with trustProxy set to true any client may write its own address; set it to the " +
        "addresses or the number of your proxies",
    );
  }
  const found = ips !== undefined || ip !== MADE_UP.socket.remoteAddress;
  looksBehind.set(kind, found);
  return found;
}

const IPV6_PREFIX = 64;

/**
 * The address by which a client is counted: IPv4 whole, IPv6 by the first address of its network. A string
 * that is not an address comes back in lower case.
 *
 * @param ipv6Subnet - The bits of an IPv6 address that are one client, 0 to 128; default 64.
 */
export function normalizeIP(ip: string, ipv6Subnet: number = IPV6_PREFIX): string {
  const counted = toClientAddress(ip, { ipv6Prefix: ipv6Subnet });
  return counted === undefined ? ip.toLowerCase() : counted.replace(/\/\d+$/, "");
}
