// Detects web pages that make a browser on this machine send requests to a port of this machine. A browser says which page
// a request came from, and a page whose own name resolves to this machine sends that name as the host; programs do neither.

import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

/**
 * Whether a web page made a browser send this, including a page of the same origin: for ports that serve no pages. Every
 * browser sends `Origin` with a POST.
 */
export function isOfPage({ origin, "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  // "none" is an address that was typed into the browser.
  return origin !== undefined || (site !== undefined && site !== "none");
}

/** Whether a Host header is an address or `localhost`, which no page on the Internet can be served from. */
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
