// The host that a request is for.

import type { HttpRequest } from "./http-request.js";

/**
 * The host in lower case, without its port: `:authority` of HTTP/2, else `Host`, else that of a target
 * that is a whole URL. If `isForwarded`, the last value of `X-Forwarded-Host` comes first: the one
 * that the nearest proxy wrote, where earlier ones may be a client's.
 */
export function readHost(request: HttpRequest, isForwarded: boolean): string | undefined {
  const forwarded = isForwarded ? lastOf(request.headers["x-forwarded-host"]) : undefined;
  const text =
    forwarded ??
    lastOf(request.headers[":authority"]) ??
    lastOf(request.headers.host) ??
    authorityOf(request.target);
  return text === undefined ? undefined : withoutPort(text.toLowerCase());
}

function lastOf(lines: string | readonly string[] | undefined): string | undefined {
  const line = typeof lines === "string" ? lines : lines?.at(-1);
  const value = line?.slice(line.lastIndexOf(",") + 1).trim();
  return value === "" ? undefined : value;
}

function authorityOf(target: string): string | undefined {
  const start = target.startsWith("/") ? -1 : target.indexOf("://");
  if (start < 0) return undefined;
  const [authority] = target.slice(start + 3).split(/[/?#\\]/, 1);
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  return host === "" ? undefined : host;
}

function withoutPort(host: string): string {
  const colon = host.lastIndexOf(":");
  // The colons within the brackets of an IPv6 address are part of it.
  return colon < 0 || colon < host.indexOf("]") ? host : host.slice(0, colon);
}
