// Who asks the admin port, and from where.

import type { IncomingMessage } from "node:http";
import type { TrustedProxies } from "../../base/http/trusted-proxies.js";
import type { Role } from "../../control/credentials/access-tokens.js";

/** The sender of a request to the admin port. */
export interface Caller {
  /** For the audit log: the name of an access token, `admin.token` or `local`. */
  readonly name: string;
  readonly role: Role;
  /** The id of the access token; undefined for `admin.token` and programs of this machine. */
  readonly tokenId?: string | undefined;
  /** The address that the request came from. */
  readonly origin: string;
  /** The secret of the session, if a browser that has logged in sent the request. */
  readonly session?: string | undefined;
}

/** The caller of a route that is open: it is not known, and may do nothing else. */
export const ANONYMOUS: Caller = { name: "anonymous", role: "viewer", origin: "" };

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;
const FORWARDED_MAX = 32;

/**
 * The address of the client that sent a request: the peer's or, behind proxies that `identity.trustedProxies` names, the last
 * one in X-Forwarded-For that is not such a proxy.
 */
export function originOf({ socket, headers }: IncomingMessage, trusted: TrustedProxies): string {
  const peer = toPlain(socket.remoteAddress ?? "");
  if (!trusted.has(peer)) return peer;
  const forwarded = String(headers["x-forwarded-for"] ?? "")
    .split(",")
    .map(toPlain);
  const named = forwarded.filter((address) => address !== "").slice(-FORWARDED_MAX);
  return named.findLast((address) => !trusted.has(address)) ?? named.at(0) ?? peer;
}

/** Whether the client's connection is encrypted, as far as a trusted proxy says so. */
export function isSecure({ socket, headers }: IncomingMessage, trusted: TrustedProxies): boolean {
  if ("encrypted" in socket && socket.encrypted === true) return true;
  const isTrusted = trusted.has(toPlain(socket.remoteAddress ?? ""));
  return isTrusted && headers["x-forwarded-proto"] === "https";
}

function toPlain(address: string): string {
  return address.trim().replace(MAPPED, "");
}
