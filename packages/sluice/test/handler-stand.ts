// What the tests of a request handler stand on: requests that come from nowhere, and their fields by name.

import type { MaybePromise } from "../src/base/maybe-promise.js";
import type { OptionSite } from "../src/base/shapes/code-options.js";
import { toRequestHandler } from "../src/http/handler/create-handler.js";
import type { HandledRequest } from "../src/http/handler/handled-request.js";
import type { RequestHandler } from "../src/http/handler/handler.js";
import type { HttpOptions } from "../src/http/handler/http-options.js";
import type { HttpRequest } from "../src/http/identity/http-request.js";
import { parseRules } from "../src/rules/parse/parse.js";
import { createPolicy } from "../src/rules/policy/create-policy.js";
import type { PolicyOptions } from "../src/rules/policy/policy-options.js";
import { ManualClock } from "../src/testing/manual-clock.js";

/** When the clocks of these tests start. */
export const START_MS = Date.UTC(2026, 0, 1);

export const SITE: OptionSite = { name: "rateLimit", code: "SLUICE_OPTION_INVALID" };

/** A request that no framework made. */
export function requestOf(request: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: "GET",
    target: "/",
    headers: {},
    peer: "203.0.113.10",
    raw: {},
    readBody: () => undefined,
    ...request,
  };
}

/** A request handler over rules, on a clock that the test moves. */
export function requestHandlerOf(
  rules: readonly object[],
  http: HttpOptions = {},
  policy: Partial<PolicyOptions> = {},
): {
  requestHandler: RequestHandler;
  clock: ManualClock;
  handle(request?: Partial<HttpRequest>): HandledRequest;
} {
  const clock = new ManualClock(START_MS);
  const parsed = parseRules({ version: 1, rules });
  const requestHandler = toRequestHandler(
    SITE,
    createPolicy({ rules: parsed, clock, ...policy }),
    http,
  );
  return {
    requestHandler,
    clock,
    handle: (request) => now(requestHandler.handle(requestOf(request))),
  };
}

/** A value that is not a promise. */
export function now<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error("expected a value, got a promise");
  return value as T;
}

/** Names in lower case and values in turn as an object. A name that comes twice is an error. */
export function byName(fields: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i].toLowerCase();
    if (name in found) throw new Error(`${name} twice`);
    found[name] = fields[i + 1];
  }
  return found;
}
