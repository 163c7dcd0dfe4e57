// What a middleware takes, whatever the framework: `rateLimit(policy, httpOptions?)` for rules, or one
// object with a limit and the same options for the simple case. Both become a request handler.

import type { Clock } from "../../base/clock.js";
import {
  anyFunction,
  type OptionSite,
  orFunction,
  passedOn,
  refuse,
  secretString,
} from "../../base/shapes/code-options.js";
import {
  anything,
  choice,
  either,
  type Field,
  flag,
  object,
  optional,
  type ReadFields,
  required,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import {
  type ChallengeOptions,
  type ChallengeSetup,
  toChallengeSetup,
} from "../challenge/challenge-options.js";
import { type Identity, type IdentityOptions, toIdentity } from "../identity/identity.js";
import { HEADER_FORMS, type HeaderForm, type LegacyReset } from "../response/rate-limit-headers.js";
import type { RefusalBody } from "../response/refusal.js";
import { type RandomUpTo, systemRandom } from "../response/retry-after.js";
import type { RateLimitInfo } from "./handled-request.js";
import { SIMPLE_FIELDS, type SimpleOptions } from "./limits-in-code.js";

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
  /**
   * How rules with `onExceed: challenge` challenge their callers: at least `{ secrets }`. Default: such rules reject, as
   * they do where responses are not seen.
   */
  challenge?: ChallengeOptions;
  /** How many delayed requests may wait at the same time, 0 to 1,000,000; default 1,000. */
  delayedMax?: number;
  /**
   * An id that makes the same request, sent twice, count once. Never one that a client chose, unless it is for
   * durable rules only and your application does nothing twice for it. Default: none.
   */
  requestId?: (request: Raw) => string | undefined;
  /** The rules that the id is for; others count a request each time that it is sent. Default `"all"`. */
  requestIdFor?: "all" | "durable";
  /**
   * Whether everything that is charged is held until the request has ended, so that an adapter that refuses a request
   * later, as where load is shed, can refund all of it: `handled.decision.cancel()`. Default false.
   */
  holdCharges?: boolean;
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
  readonly random: RandomUpTo;
  readonly body: RefusalBody;
  readonly partitionSecret: string | undefined;
  readonly challenge: ChallengeSetup | undefined;
  readonly delayedMax: number;
  readonly requestId: ((request: unknown) => string | undefined) | undefined;
  readonly requestIdFor: "all" | "durable";
  readonly holdCharges: boolean;
  readonly onRefused: ((info: RateLimitInfo, request: unknown) => unknown) | undefined;
  readonly onError: ((error: unknown) => unknown) | undefined;
}

/** Longer than an hour it would be another limit, not a spread. */
const JITTER_MS = { min: 0, max: 3_600_000 };
const DELAYED = { min: 0, max: 1_000_000 };

const legacyHeaders = either<boolean | LegacyReset>('true, false, "epoch" or "delta"', [
  { fits: (value) => typeof value === "boolean", shape: flag },
  { fits: (value) => value === "epoch" || value === "delta", shape: choice(["epoch", "delta"]) },
]);

const HTTP_FIELDS = {
  // Read by `toIdentity`, whose errors name it.
  identity: optional(anything()),
  headers: withDefault(choice(HEADER_FORMS), "draft-11"),
  legacyHeaders: withDefault(legacyHeaders, true),
  retryAfterJitterMs: withDefault(wholeNumber(JITTER_MS), 0),
  body: withDefault(orFunction(choice(["problem", "text", "minimal"])), "problem"),
  partitionKey: optional(object({ secret: required(secretString) })),
  // Read by `toChallengeSetup`, whose errors name it.
  challenge: optional(anything()),
  delayedMax: withDefault(wholeNumber(DELAYED), 1_000),
  requestId: optional(anyFunction),
  requestIdFor: withDefault(choice(["all", "durable"]), "all"),
  holdCharges: withDefault(flag, false),
  onRefused: optional(anyFunction),
  onError: optional(anyFunction),
} satisfies Record<keyof HttpOptions, Field<unknown>>;

/** Options beside a policy. */
export const HTTP_OPTIONS = object(HTTP_FIELDS);
/** Options of the simple case. */
export const RATE_LIMIT_OPTIONS = object({ ...SIMPLE_FIELDS, ...HTTP_FIELDS });
/** For options of which others have read the rest. */
export const HTTP_PART = object(HTTP_FIELDS, { isOpen: true });

/**
 * Our options beside those of another limiter, whose shape has them too. They may be anything there: what is left
 * after the translation is read here.
 */
export const RATE_LIMIT_FIELDS: Readonly<Record<keyof RateLimitOptions, Field<unknown>>> = passedOn(
  Object.keys(RATE_LIMIT_OPTIONS.fields) as (keyof RateLimitOptions)[],
);

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

/** The setup of a request handler, out of options that were read. */
export function toHttpSetup(given: ReadFields<typeof HTTP_FIELDS>, clock: Clock): HttpSetup {
  const { legacyHeaders: legacy } = given;
  return {
    clock,
    identity: toIdentity(given.identity as IdentityOptions | undefined, clock),
    headers: given.headers,
    legacyReset: typeof legacy === "string" ? legacy : legacy ? "epoch" : undefined,
    retryAfterJitterMs: given.retryAfterJitterMs,
    random: systemRandom,
    body: given.body,
    partitionSecret: given.partitionKey?.secret,
    challenge: given.challenge === undefined ? undefined : toChallengeSetup(given.challenge),
    delayedMax: given.delayedMax,
    requestId: given.requestId,
    requestIdFor: given.requestIdFor,
    holdCharges: given.holdCharges,
    onRefused: given.onRefused,
    onError: given.onError,
  };
}
