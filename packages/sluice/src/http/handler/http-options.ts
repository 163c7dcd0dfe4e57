// What a middleware takes, whatever the framework: `rateLimit(policy, httpOptions?)` for rules, or one
// object with a limit and the same options for the simple case. Both become a request handler.

import { type Clock, toClock } from "../../base/clock.js";
import { show } from "../../base/errors.js";
import {
  asOptions,
  functionOf,
  namesOf,
  type OptionSite,
  oneOf,
  orDefault,
  refuse,
  secretOf,
  whole,
} from "../../base/shapes/code-options.js";
import { Policy } from "../../rules/policy/policy.js";
import { type Identity, type IdentityOptions, toIdentity } from "../identity/identity.js";
import { HEADER_FORMS, type HeaderForm, type LegacyReset } from "../response/rate-limit-headers.js";
import type { RefusalBody } from "../response/refusal.js";
import { type Random, systemRandom } from "../response/retry-after.js";
import type { RateLimitInfo } from "./handled-request.js";
import { RequestHandler } from "./handler.js";
import {
  type NamedLimit,
  type SharedOptions,
  SIMPLE_OPTIONS,
  type SimpleOptions,
  toNamedPolicy,
  toSimplePolicy,
} from "./limits-in-code.js";

/** How a request handler meets HTTP. `Raw` is the request of the framework. */
export interface HttpOptions<Raw = unknown> {
  /** Who the caller is: trusted proxies, users, tenants, API keys, tokens. */
  identity?: IdentityOptions<Raw>;
  /** The form of the RateLimit headers; default `"draft-11"`. */
  headers?: HeaderForm;
  /**
   * X-RateLimit-Limit, -Remaining and -Reset: `true` (default) or `"epoch"` with the reset in seconds
   * since 1970, `"delta"` with the seconds until then, `false` without them.
   */
  legacyHeaders?: boolean | LegacyReset;
  /**
   * The most random jitter, in milliseconds, that is added to the wait that a refusal states, so that not all
   * callers come back at the same time: 0 to 3,600,000; default 0.
   */
  retryAfterJitterMs?: number;
  /**
   * The body of a refusal: `"problem"` (default, application/problem+json), `"text"`, `"minimal"`
   * (none), or a function that writes it.
   */
  body?: RefusalBody<Raw>;
  /**
   * Adds to the RateLimit headers which of a rule's counters they are about: a truncated HMAC
   * of the key under this secret of at least 16 characters. Default: headers don't say.
   */
  partitionKey?: { secret: string };
  /** How many delayed requests may wait at the same time, 0 to 1,000,000; default 1,000. */
  delayedMax?: number;
  /**
   * An id that makes the same request, sent twice, count once. Never one that a client chose.
   * Default: none.
   */
  requestId?: (request: Raw) => string | undefined;
  /** Called with each refusal, before it is answered. Exceptions that it throws go to `onError`. */
  onRefused?: (info: RateLimitInfo, request: Raw) => void;
  /**
   * Called with errors that no request waits for: a callback that threw, and with `rateLimit({ limit })`
   * settling that failed; a policy reports that to its own `onEvent`.
   */
  onError?: (error: unknown) => void;
}

/** The simple case: one rule from code. */
export interface RateLimitOptions<Raw = unknown> extends SimpleOptions<Raw>, HttpOptions<Raw> {}

/** Options, validated and filled in. */
export interface HttpSetup {
  readonly clock: Clock;
  readonly identity: Identity;
  readonly headers: HeaderForm;
  readonly legacyReset: LegacyReset | undefined;
  readonly retryAfterJitterMs: number;
  readonly random: Random;
  readonly body: RefusalBody;
  readonly partitionSecret: string | undefined;
  readonly delayedMax: number;
  readonly requestId: ((request: unknown) => string | undefined) | undefined;
  readonly onRefused: ((info: RateLimitInfo, request: unknown) => unknown) | undefined;
  readonly onError: ((error: unknown) => unknown) | undefined;
}

const HTTP_OPTIONS = namesOf<HttpOptions>({
  identity: true,
  headers: true,
  legacyHeaders: true,
  retryAfterJitterMs: true,
  body: true,
  partitionKey: true,
  delayedMax: true,
  requestId: true,
  onRefused: true,
  onError: true,
});

/** The names of {@link RateLimitOptions}. */
export const RATE_LIMIT_OPTIONS: readonly string[] = [...SIMPLE_OPTIONS, ...HTTP_OPTIONS];

/** Longer than an hour it would be another limit, not a spread. */
const JITTER_MS = { min: 0, max: 3_600_000 };
const DELAYED = { min: 0, max: 1_000_000 };

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
    asOptions(site, second ?? {}, HTTP_OPTIONS);
    return new RequestHandler(first, toHttpSetup(site, second ?? {}, first.clock));
  }
  refuseRequest(site, first);
  if (second !== undefined) {
    refuse(site, `takes a policy and options, or options alone; got ${show(second)} besides them`);
  }
  asOptions(site, first, RATE_LIMIT_OPTIONS);
  const setup = toHttpSetup(site, first, toClock(site, first.clock));
  const simple = toSimplePolicy(site, first, setup.onError);
  return new RequestHandler(simple.policy, setup, simple);
}

/** Rejects a request or a framework's context: `rateLimit` was used as the middleware itself, without a call. */
export function refuseRequest(site: OptionSite, options: unknown): void {
  if (typeof options !== "object" || options === null) return;
  if (!("req" in options) && !("url" in options && "method" in options)) return;
  const what = `${site.name}({ limit: … })`;
  refuse(
    site,
    `got a request, not options; write app.use(${what}) instead of app.use(${site.name})`,
  );
}

/** Makes a request handler of several limits, which are decided together. */
export function toNamedHandler<Raw>(
  site: OptionSite,
  limits: readonly NamedLimit<Raw>[],
  shared: SharedOptions<Raw> & HttpOptions<Raw>,
): RequestHandler {
  const setup = toHttpSetup(site, shared, toClock(site, shared.clock));
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

function toHttpSetup<Raw>(site: OptionSite, given: HttpOptions<Raw>, clock: Clock): HttpSetup {
  // Whatever the framework, its adapter hands in its own requests.
  const options = given as HttpOptions;
  const legacy = orDefault(options.legacyHeaders, true);
  const jitterMs = orDefault(options.retryAfterJitterMs, 0);
  return {
    clock,
    identity: toIdentity(options.identity, clock),
    headers: oneOf(site, "headers", orDefault(options.headers, "draft-11"), HEADER_FORMS),
    legacyReset: toLegacyReset(site, legacy),
    retryAfterJitterMs: whole(site, "retryAfterJitterMs", jitterMs, JITTER_MS),
    random: systemRandom,
    body: toBody(site, options.body),
    partitionSecret: toSecret(site, options.partitionKey),
    delayedMax: whole(site, "delayedMax", orDefault(options.delayedMax, 1_000), DELAYED),
    requestId: functionOf(site, "requestId", options.requestId),
    onRefused: functionOf(site, "onRefused", options.onRefused),
    onError: functionOf(site, "onError", options.onError),
  };
}

function toLegacyReset(site: OptionSite, given: unknown): LegacyReset | undefined {
  if (given === false) return undefined;
  if (given === true || given === "epoch") return "epoch";
  if (given === "delta") return "delta";
  refuse(site, `legacyHeaders must be true, false, "epoch" or "delta", got ${show(given)}`);
}

function toBody(site: OptionSite, given: unknown): RefusalBody {
  if (typeof given === "function") return given as RefusalBody;
  return oneOf(site, "body", orDefault(given, "problem"), ["problem", "text", "minimal"] as const);
}

function toSecret(site: OptionSite, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const { secret } = asOptions({ ...site, name: `${site.name}: partitionKey` }, given, ["secret"]);
  return secretOf(site, "partitionKey.secret", secret);
}
