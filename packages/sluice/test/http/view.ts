// Requests for tests that need no server: a view made of what a test says.

import type { HttpRequest } from "../../src/http/identity/http-request.js";

/** A view; by default a GET of `/` without fields, from a peer without an address. */
export function viewOf(given: Partial<HttpRequest>): HttpRequest {
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
