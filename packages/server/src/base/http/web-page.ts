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
  const name = nameOf(host);
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

/**
 * The same, or a name of one label, such as nginx's name of its upstream (`sluice`): it can't be registered as
 * a domain.
 */
export function isUpstreamHost(host: string | undefined): boolean {
  return isLocalHost(host) || (host !== undefined && /^[a-z\d_-]+$/.test(nameOf(host)));
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}
