// One limit of a Fastify application, for all routes or for one: options of @fastify/rate-limit,
// translated into ours wherever possible. The rest is handled here: which keys are not counted, which numbers a
// function chooses for a key, and how a refusal is answered.

import type { FastifyRequest } from "fastify";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { type OptionSite, readOption, readOptions } from "../../../base/shapes/code-options.js";
import type { Policy } from "../../../rules/policy/policy.js";
import { addressOf } from "../../exchange/fastify/client-address.js";
import { toRequestHandler } from "../../handler/create-handler.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { RateLimitOptions } from "../../handler/http-options.js";
import { type EitherOr, refuseBoth, refuseNotKept } from "../either-or.js";
import { toWindowHandler, WindowHandlers } from "../window-handlers.js";
import { ForeignLimit } from "./custom-store.js";
import type {
  FastifyHook,
  FastifyLimitOptions,
  FastifyPolicyOptions,
  ValueByKey,
} from "./fastify-options.js";
import { FastifyRefusals } from "./fastify-refusals.js";
import { FOREIGN_LIMIT_OPTIONS, FROM_FASTIFY, hook, LIMIT_OPTIONS } from "./fastify-shapes.js";
import type { ForeignStore } from "./foreign-store.js";
import { numberFor, toHidden, toMax, toSubnet } from "./option-values.js";
import { HitCounter } from "./refused-hits.js";
import { countedKeyIn, setKey } from "./request-key.js";
import { toTimeWindow, toWindowMs } from "./time-window.js";

/** A limit, ready for requests. */
export interface FastifyLimit {
  readonly hook: FastifyHook;
  /** The request handler of a request; undefined if it is not counted. */
  readonly handlerOf: (request: FastifyRequest) => MaybePromise<RequestHandler | undefined>;
  /** Undefined if functions choose among several. */
  readonly policy: Policy | undefined;
  /** Undefined: a refusal is answered as the request handler says. */
  readonly refusals: FastifyRefusals | undefined;
  /** Counts beyond the limit; undefined if that is one of ours. */
  readonly hits: HitCounter | undefined;
  readonly onPassed: ((request: FastifyRequest, key: string) => unknown) | undefined;
  /** Headers that responses go without, by lower-case name. */
  readonly hidden: { readonly passed: ReadonlySet<string>; readonly refused: ReadonlySet<string> };
  /** Decides and answers in place of all of the above, over a store class of @fastify/rate-limit. */
  readonly foreign: ForeignLimit | undefined;
  /** Whether `identity` says which proxies are trusted; if not, the app's `trustProxy` does. */
  readonly knowsProxies: boolean;
  close(): Promise<void>;
}

const EITHER_OR: EitherOr<keyof FastifyLimitOptions> = {
  switches: ["enableDraftSpec", "continueExceeding", "exponentialBackoff"],
  pairs: [
    ["limit", "max"],
    ["limit", "timeWindow"],
    ["limit", "ban"],
    ["limit", "continueExceeding"],
    ["limit", "exponentialBackoff"],
    ["key", "keyGenerator"],
    ["key", "ipv6Subnet"],
    ["headers", "enableDraftSpec"],
    ["body", "errorResponseBuilder"],
    ["onStoreFailure", "skipOnError"],
  ],
};

/** Options that are not supported, and what to do instead. */
const NOT_KEPT = {
  redis: "pass store: redisStore(client), from sluice/redis",
};

const NOTHING: ReadonlySet<string> = new Set();

/** The limit of a policy. */
export function toPolicyLimit(
  site: OptionSite,
  policy: Policy,
  { hook: given, ...options }: FastifyPolicyOptions,
): FastifyLimit {
  const requestHandler = toRequestHandler(site, policy, options);
  return {
    hook: readOption(site, "hook", hook, given),
    handlerOf: () => requestHandler,
    policy,
    refusals: undefined,
    hits: undefined,
    foreign: undefined,
    onPassed: undefined,
    hidden: { passed: NOTHING, refused: NOTHING },
    knowsProxies: options.identity?.trustedProxies !== undefined,
    close: () => requestHandler.close(),
  };
}

/** A limit of these options. `store` and `name` are given: limits of an application share a store. */
export function toFastifyLimit(
  site: OptionSite,
  options: FastifyLimitOptions & Required<Pick<FastifyLimitOptions, "store" | "name">>,
): FastifyLimit {
  refuseBoth(site, options, EITHER_OR);
  refuseNotKept(site, options, "@fastify/rate-limit", NOT_KEPT);
  const { hook } = readOptions(site, LIMIT_OPTIONS, options);
  const { onExceeding, addHeaders, addHeadersOnExceeding, identity } = options;
  return {
    ...toHandlerChoice(site, options),
    hook,
    refusals: FastifyRefusals.of(options),
    hits: options.limit === undefined ? new HitCounter(options) : undefined,
    onPassed: onExceeding,
    foreign: undefined,
    hidden: { passed: toHidden(addHeadersOnExceeding), refused: toHidden(addHeaders) },
    // Where a function identifies the caller, no address is needed.
    knowsProxies:
      options.keyGenerator !== undefined ||
      typeof options.key === "function" ||
      identity?.trustedProxies !== undefined,
  };
}

/** A limit over a store class of @fastify/rate-limit. */
export function toForeignLimit(
  site: OptionSite,
  store: ForeignStore,
  options: FastifyLimitOptions,
): FastifyLimit {
  const { hook } = readOptions(site, FOREIGN_LIMIT_OPTIONS, options);
  return {
    hook,
    handlerOf: () => undefined,
    policy: undefined,
    refusals: undefined,
    hits: undefined,
    onPassed: undefined,
    hidden: { passed: NOTHING, refused: NOTHING },
    foreign: new ForeignLimit(site, store, options),
    knowsProxies: true,
    close: async () => {},
  };
}

type HandlerChoice = Pick<FastifyLimit, "handlerOf" | "policy" | "close">;

function toHandlerChoice(site: OptionSite, options: FastifyLimitOptions): HandlerChoice {
  const own = toOwn(options);
  const { limit, allowList } = options;
  const max = typeof options.max === "function" ? options.max : toMax(options.max);
  const windowMs = toTimeWindow(site, options.timeWindow);
  if (typeof max === "function" || typeof windowMs === "function") {
    const handlers = new WindowHandlers(site, own);
    const handlerOf = unlessAllowed(options, (request, key) =>
      andThen(numberFor(max, request, key), (size) =>
        andThen(numberFor(windowMs, request, key), (ms) =>
          handlers.of({ limit: toMax(size), windowMs: toWindowMs(ms) }),
        ),
      ),
    );
    return { handlerOf, policy: undefined, close: () => handlers.close() };
  }
  const requestHandler =
    limit === undefined
      ? toWindowHandler(site, own, { limit: max, windowMs })
      : toRequestHandler(site, { ...own, limit });
  const needsKey = options.keyGenerator !== undefined || allowList !== undefined;
  const handlerOf = needsKey ? unlessAllowed(options, () => requestHandler) : () => requestHandler;
  return { handlerOf, policy: requestHandler.policy, close: () => requestHandler.close() };
}

/** Everything but the limit, in our own names. */
function toOwn(options: FastifyLimitOptions): Omit<RateLimitOptions<FastifyRequest>, "limit"> {
  const own: Record<string, unknown> = { ...options };
  delete own.limit;
  for (const name of Object.keys(FROM_FASTIFY)) delete own[name];
  const { keyGenerator, ipv6Subnet, skipOnError, enableDraftSpec, limit } = options;
  if (keyGenerator !== undefined) own.key = countedKeyIn;
  else if (ipv6Subnet !== undefined) own.key = `ipPrefix:32/${toSubnet(ipv6Subnet)}`;
  if (skipOnError !== undefined) own.onStoreFailure = skipOnError ? "open" : "throw";
  if (enableDraftSpec) own.headers = "draft-6";
  // As clients of @fastify/rate-limit know it: seconds from now, and no X- headers beside the draft's.
  if (limit === undefined) own.legacyHeaders ??= enableDraftSpec ? false : "delta";
  return own as Omit<RateLimitOptions<FastifyRequest>, "limit">;
}

/** Finds the key, and the request handler unless the key is in `allowList`. */
function unlessAllowed(
  { keyGenerator, allowList }: FastifyLimitOptions,
  handlerOf: ValueByKey<RequestHandler>,
): FastifyLimit["handlerOf"] {
  const allowed = Array.isArray(allowList) ? new Set<string>(allowList.map(String)) : undefined;
  const isAllowed =
    typeof allowList === "function"
      ? allowList
      : (_request: FastifyRequest, key: string) => allowed?.has(String(key)) === true;
  return (request) =>
    andThen(keyGenerator === undefined ? addressOf(request) : keyGenerator(request), (found) => {
      // A string by its type, as in @fastify/rate-limit; a number if `keyGenerator` returned one.
      const key = setKey(request, found) as string;
      return andThen(isAllowed(request, key), (isFree) =>
        isFree ? undefined : handlerOf(request, key),
      );
    });
}
