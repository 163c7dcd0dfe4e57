// Options of express-rate-limit, translated into ours wherever possible, so that one path leads from a request to
// its answer. The rest is handled here: how a refusal is answered, and what functions decide.

import type { Request, Response } from "express";
import { show } from "../../../base/errors.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import {
  anyFunction,
  type OptionSite,
  orFunction,
  readOptions,
  refuse,
} from "../../../base/shapes/code-options.js";
import {
  anything,
  constant,
  either,
  flag,
  object,
  optional,
  wholeNumber,
} from "../../../base/shapes/shapes.js";
import { toClientAddress } from "../../../rules/normalize/address.js";
import type { Policy } from "../../../rules/policy/policy.js";
import { InfoProperty } from "../../exchange/node/rate-limit-info.js";
import {
  type HttpOptions,
  RATE_LIMIT_FIELDS,
  type RateLimitOptions,
  refuseRequest,
} from "../../handler/http-options.js";
import { toRuleId } from "../../handler/rule-id.js";
import { type EitherOr, refuseBoth, refuseNotKept } from "../either-or.js";
import {
  EXPRESS_LIKE_FIELDS,
  EXPRESS_LIKE_PAIRS,
  toCounted,
  toHeaderForm,
  toIsCounted,
} from "../express-like-options.js";
import {
  type HandlerChoice,
  type LimitOrNumber,
  toFixedChoice,
  toHandlerChoice,
  toKey,
} from "../handler-choice.js";
import type { ExpressOptions, ValueOf } from "./express-options.js";
import { type AnswerRefusal, RETRY_AFTER_SECONDS, toAnswer } from "./express-refusal.js";
import { type SettleByResponse, toSettleByResponse } from "./settle-by-response.js";

/** Options, validated and translated into ours. */
export interface ExpressSetup extends HandlerChoice<Request> {
  /** Answers refused requests; undefined: as the request handler says. */
  readonly answer: AnswerRefusal | undefined;
  /** Settles requests by their response; undefined: the rule does. */
  readonly settle: SettleByResponse | undefined;
  /** Where handlers find what was decided. */
  readonly info: InfoProperty;
  /** Whether `identity` says which proxies are trusted; if not, the app's `trust proxy` does. */
  readonly knowsProxies: boolean;
}

const SUBNET_BITS = { min: 1, max: 128 };

const subnetBits = either<number | false>("a whole number from 1 to 128, or false", [
  { fits: (value) => value === false, shape: constant(false) },
  { fits: () => true, shape: wholeNumber(SUBNET_BITS) },
]);

/** Options that are not ours. */
const FROM_EXPRESS_RATE_LIMIT = {
  ...EXPRESS_LIKE_FIELDS,
  // The limit and the name of a rule are read with the rule.
  max: optional(anything()),
  identifier: optional(anything()),
  retryAfter: optional(orFunction(wholeNumber(RETRY_AFTER_SECONDS))),
  ipv6Subnet: optional(orFunction(subnetBits)),
  passOnStoreError: optional(flag),
  validate: optional(anything()),
} satisfies Omit<Record<keyof ExpressOptions, unknown>, keyof RateLimitOptions>;

const OPTIONS = object({
  ...RATE_LIMIT_FIELDS,
  skip: optional(anyFunction),
  ...FROM_EXPRESS_RATE_LIMIT,
});

const EITHER_OR: EitherOr<keyof ExpressOptions> = {
  switches: ["skipFailedRequests", "skipSuccessfulRequests"],
  pairs: [
    ...EXPRESS_LIKE_PAIRS,
    ["key", "ipv6Subnet"],
    ["keyGenerator", "ipv6Subnet"],
    ["name", "identifier"],
    ["onStoreFailure", "passOnStoreError"],
  ],
};

/** Options that are not supported, and what to do instead. */
const NOT_KEPT = {
  logger: "pass onError: (error) => logger.error(error)",
  onLimitReached: "pass handler, or onRefused, which is called for each refusal",
  draft_polli_ratelimit_headers: "pass standardHeaders: true",
};

const WINDOW_MS_DEFAULT = 60_000;
const LIMIT_DEFAULT = 5;
const INFO_NAME = "rateLimit";

/** Validates options and translates them into ours. */
export function toExpressSetup(
  site: OptionSite,
  options: ExpressOptions,
  second?: unknown,
): ExpressSetup {
  refuseRequest(site, options);
  if (typeof options !== "object" || options === null || second !== undefined) {
    const seen = `${show(options)}${second === undefined ? "" : ` and ${show(second)}`}`;
    refuse(site, `takes a policy and options, or options alone; got ${seen}`);
  }
  refuseNotKept(site, options, "express-rate-limit", NOT_KEPT);
  const { requestPropertyName: infoName = INFO_NAME } = readOptions(site, OPTIONS, options);
  const isSwitch = typeof options.headers === "boolean";
  refuseBoth(site, isSwitch ? { ...options, headers: undefined } : options, EITHER_OR);
  checkStore(site, options.store);
  const { skip, ...own } = toOwn(options);
  const choice = toHandlerChoice(site, own, toLimit(options), {
    windowMs: options.windowMs,
    windowMsDefault: WINDOW_MS_DEFAULT,
  });
  return {
    ...choice,
    handlerOf: skip === undefined ? choice.handlerOf : unlessSkipped(skip, choice.handlerOf),
    answer: toAnswer(options),
    settle: toSettleByResponse(options),
    info: new InfoProperty(infoName),
    // Where a function identifies the caller, no address is needed.
    knowsProxies: typeof own.key === "function" || knowsProxies(options),
  };
}

/** The setup of a policy, which has no other options than ours. */
export function toPolicySetup(
  site: OptionSite,
  policy: Policy,
  options: HttpOptions<Request> = {},
): ExpressSetup {
  return {
    ...toFixedChoice(site, policy, options),
    answer: undefined,
    settle: undefined,
    info: new InfoProperty(INFO_NAME),
    knowsProxies: knowsProxies(options),
  };
}

function knowsProxies({ identity }: Pick<HttpOptions<Request>, "identity">): boolean {
  return identity?.trustedProxies !== undefined;
}

/** Everything but the limit, in our own names. */
function toOwn(options: ExpressOptions): RateLimitOptions<Request> {
  const own: Record<string, unknown> = { ...options };
  for (const name of Object.keys(FROM_EXPRESS_RATE_LIMIT)) delete own[name];
  // The former name of `legacyHeaders`.
  if (typeof options.headers === "boolean") {
    own.legacyHeaders ??= options.headers;
    delete own.headers;
  }
  const { keyGenerator, skip, standardHeaders, identifier, ipv6Subnet, passOnStoreError } = options;
  if (keyGenerator !== undefined) own.key = (request: Request) => findKey(keyGenerator, request);
  if (skip !== undefined) own.skip = (request: Request) => skip(request, responseOf(request));
  if (standardHeaders !== undefined) own.headers = toHeaderForm(standardHeaders);
  if (identifier !== undefined) own.name = identifier;
  if (standardHeaders === "draft-8") own.name ??= nameOf(options);
  if (typeof ipv6Subnet === "function") own.key = byNetwork(ipv6Subnet);
  else if (ipv6Subnet !== undefined) own.key = `ipPrefix:32/${ipv6Subnet || SUBNET_BITS.max}`;
  if (passOnStoreError !== undefined) own.onStoreFailure = passOnStoreError ? "open" : "throw";
  Object.assign(own, toCounted(options, toIsCounted(options) !== undefined));
  return own as unknown as RateLimitOptions<Request>;
}

/** What express-rate-limit calls a limit in the headers of draft 8, such as "5-in-1min"; undefined if it is not a number. */
function nameOf(options: ExpressOptions): string | undefined {
  const limit = toLimit(options);
  const { windowMs = WINDOW_MS_DEFAULT } = options;
  if (typeof limit !== "number" || typeof windowMs !== "number") return undefined;
  const [unitMs, unit] = UNITS.find(([ms]) => windowMs >= ms) ?? [1_000, "sec"];
  const amount = windowMs / unitMs;
  const isPlural = amount > 1 && (unit === "hr" || unit === "day");
  return toRuleId(`${limit}-in-${amount}${unit}${isPlural ? "s" : ""}`);
}

const UNITS = [
  [86_400_000, "day"],
  [3_600_000, "hr"],
  [60_000, "min"],
] as const;

/** A limit, the number of requests in each window, or a function that chooses it. */
function toLimit(options: ExpressOptions): LimitOrNumber<Request> {
  const { max = LIMIT_DEFAULT, limit: given = max } = options;
  if (typeof given !== "function") return toNumber(given) as LimitOrNumber<Request>;
  return (request) => andThen(given(request, responseOf(request)), toNumber);
}

/** Settings out of the environment are strings. Anything but a number is as it was. */
function toNumber<T>(limit: T): T | number {
  const isNumeric = typeof limit === "string" && limit.trim() !== "";
  return isNumeric && Number.isFinite(Number(limit)) ? Number(limit) : limit;
}

/** A request that is not counted has no request handler, no limit to choose and no `request.rateLimit`. */
function unlessSkipped(
  skip: NonNullable<RateLimitOptions<Request>["skip"]>,
  handlerOf: ExpressSetup["handlerOf"],
): ExpressSetup["handlerOf"] {
  return (request) =>
    andThen(skip(request), (isSkipped) => (isSkipped ? undefined : handlerOf(request)));
}

/** The response of a request, which Express keeps there. */
function responseOf(request: Request): Response {
  return request.res as Response;
}

function findKey(keyGenerator: ValueOf<string | number>, request: Request): MaybePromise<string> {
  const found = keyGenerator(request, responseOf(request));
  return andThen(found, (key: unknown) => toKey("keyGenerator", key));
}

/** Counts by network, of as many bits as a function chooses. */
function byNetwork(ipv6Subnet: ValueOf<number | false>) {
  return (request: Request) =>
    andThen(ipv6Subnet(request, responseOf(request)), (bits) =>
      ipKeyGenerator(request.ip ?? "", bits),
    );
}

const IPV6_PREFIX = 56;

/**
 * The key of a client's address: IPv4 as it is, IPv6 by its network, `2001:db8:1:2::/56`, because a client
 * has all addresses of one. For a `keyGenerator` of your own.
 *
 * @param ipv6Subnet - The bits of an IPv6 address that are one client, 1 to 128, or `false` for all;
 * default 56.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = IPV6_PREFIX): string {
  return toClientAddress(ip, { ipv6Prefix: ipv6Subnet || 128 }) ?? ip;
}

function checkStore(site: OptionSite, store: unknown): void {
  const { increment } = (store ?? {}) as { increment?: unknown };
  if (typeof increment !== "function") return;
  refuse(
    site,
    "store is one of express-rate-limit's; pass memoryStore() or redisStore(…), or keep " +
      "express-rate-limit and give it expressRateLimitStore(…)",
  );
}
