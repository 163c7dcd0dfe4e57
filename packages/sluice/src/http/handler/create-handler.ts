// Makes request handlers: out of a policy and options, or out of the options of the simple case.

import { toClock } from "../../base/clock.js";
import { show } from "../../base/errors.js";
import { type OptionSite, readOptions, refuse } from "../../base/shapes/code-options.js";
import { Policy } from "../../rules/policy/policy.js";
import { RequestHandler } from "./handler.js";
import {
  HTTP_OPTIONS,
  HTTP_PART,
  type HttpOptions,
  RATE_LIMIT_OPTIONS,
  type RateLimitOptions,
  refuseRequest,
  toHttpSetup,
} from "./http-options.js";
import {
  type NamedLimit,
  type SharedOptions,
  toNamedPolicy,
  toSimplePolicy,
} from "./limits-in-code.js";

/**
 * Makes the request handler of a middleware out of its arguments: a policy and perhaps options, or the options of
 * the simple case. `site` names the middleware in errors.
 */
export function toRequestHandler<Raw>(
  site: OptionSite,
  first: Policy | RateLimitOptions<Raw>,
  second?: HttpOptions<Raw>,
): RequestHandler {
  if (first instanceof Policy) {
    const given = readOptions(site, HTTP_OPTIONS, second ?? {});
    return new RequestHandler(first, toHttpSetup(given, first.clock));
  }
  refuseRequest(site, first);
  if (second !== undefined) {
    refuse(site, `takes a policy and options, or options alone; got ${show(second)} besides them`);
  }
  const given = readOptions(site, RATE_LIMIT_OPTIONS, first);
  const setup = toHttpSetup(given, toClock(site, given.clock));
  const simple = toSimplePolicy(site, first, setup.onError);
  return new RequestHandler(simple.policy, setup, simple);
}

/** Makes a request handler of several limits, which are decided together. */
export function toNamedHandler<Raw>(
  site: OptionSite,
  limits: readonly NamedLimit<Raw>[],
  shared: SharedOptions<Raw> & HttpOptions<Raw>,
): RequestHandler {
  const setup = toHttpSetup(readOptions(site, HTTP_PART, shared), toClock(site, shared.clock));
  const named = toNamedPolicy(site, limits, shared, setup.onError);
  return new RequestHandler(named.policy, setup, named);
}

/**
 * A request handler over a policy, for an adapter of your own.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function createRequestHandler<Raw>(
  policy: Policy,
  options?: HttpOptions<Raw>,
): RequestHandler {
  return toRequestHandler(
    { name: "createRequestHandler", code: "SLUICE_OPTION_INVALID" },
    policy,
    options,
  );
}
