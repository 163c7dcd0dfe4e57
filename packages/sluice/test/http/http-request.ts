// Requests for tests that need no server: a request made of what a test says.

import type { HttpRequest } from "../../src/http/identity/http-request.js";

/** A request; by default a GET of `/` without headers, from a peer without an address. */
export function requestOf(given: Partial<HttpRequest>): HttpRequest {
  return {
    method: "GET",
    target: "/",
    headers: {},
    peer: undefined,
    raw: undefined,
    readBody: () => undefined,
    ...given,
  };
}
