// Web pages that make a browser of this machine ask a port of this machine. What a program sends looks
// otherwise: a browser says which page a request came from, and a page that had its own name lead here names
// that as the host.

import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

/**
 * Whether a page had a browser send this, a page of the same origin too: for ports that serve none. Every
 * browser writes `Origin` with a POST.
 */
export function isOfPage({ origin, "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  // "none" is what somebody typed into the browser.
  return origin !== undefined || (site !== undefined && site !== "none");
}

/** Whether a Host field is an address or `localhost`, which no page on the Internet can be served from. */
export function isLocalHost(host: string | undefined): boolean {
  if (host === undefined) return false;
  const name = host.replace(/:\d*$/, "").toLowerCase();
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}
