// Options of koa-ratelimit, translated into ours as far as possible. The rest is handled here: which callers are
// always refused, how a refusal is answered, and the names of headers.

import type { Context } from "koa";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import {
  anyFunction,
  type OptionSite,
  plainString,
  readOptions,
} from "../../../base/shapes/code-options.js";
import {
  anything,
  either,
  flag,
  isRecord,
  object,
  optional,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { HandledRequest, RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import {
  RATE_LIMIT_FIELDS,
  type RateLimitOptions,
  refuseRequest,
} from "../../handler/http-options.js";
import type { Refusal } from "../../response/refusal.js";
import { BODY_FIELDS, eachField, withoutFields } from "../../response/response-headers.js";
import { type EitherOr, refuseBoth, refuseNotKept } from "../either-or.js";
import { toKey, toLimitHandler } from "../handler-choice.js";
import type { KoaFieldNames, KoaOptions } from "./koa-options.js";

/** Options, validated and translated into ours. */
export interface KoaSetup {
  readonly requestHandler: RequestHandler;
  /** Refuses requests before they are counted. */
  readonly isBlocked: ((ctx: Context) => MaybePromise<boolean>) | undefined;
  /** Answers refused requests; undefined: as the request handler says. */
  readonly answer: ((ctx: Context, handled: HandledRequest) => void) | undefined;
  /** Sets headers under other names. */
  readonly setFields: ((ctx: Context, info: RateLimitInfo) => void) | undefined;
}

const STATUS = { min: 400, max: 599 };

const errorMessage = either<string | object>("a string or an object", [
  { fits: (value) => typeof value === "string", shape: plainString },
  {
    fits: (value) => typeof value === "object" && value !== null,
    shape: anything() as Shape<object>,
  },
]);

/** Options that are not ours. */
const FROM_KOA_RATELIMIT = {
  // How many requests in how long is checked with the limit that they make.
  max: optional(anything()),
  duration: optional(anything()),
  id: optional(anyFunction),
  whitelist: optional(anyFunction),
  blacklist: optional(anyFunction),
  errorMessage: optional(errorMessage),
  status: optional(wholeNumber(STATUS)),
  throw: optional(flag),
  disableHeader: optional(flag),
  onLimited: optional(anyFunction),
} satisfies Omit<Record<keyof KoaOptions, unknown>, keyof RateLimitOptions>;

const fieldNames = object({
  remaining: withDefault(plainString, "X-RateLimit-Remaining"),
  reset: withDefault(plainString, "X-RateLimit-Reset"),
  total: withDefault(plainString, "X-RateLimit-Limit"),
} satisfies Record<keyof KoaFieldNames, unknown>);

const OPTIONS = object({
  ...RATE_LIMIT_FIELDS,
  ...FROM_KOA_RATELIMIT,
  // Names of headers; anything else is ours.
  headers: optional(
    either<unknown>(fieldNames.what, [
      { fits: isRecord, shape: fieldNames },
      { fits: () => true, shape: anything() },
    ]),
  ),
});

const EITHER_OR: EitherOr<keyof KoaOptions> = {
  switches: ["disableHeader"],
  pairs: [
    ["limit", "max"],
    ["limit", "duration"],
    ["key", "id"],
    ["skip", "whitelist"],
    ["body", "errorMessage"],
    ["headers", "disableHeader"],
    ["onRefused", "onLimited"],
  ],
};

const MAX_DEFAULT = 2_500;
const DURATION_MS_DEFAULT = 3_600_000;
const STATUS_DEFAULT = 429;

/** Validates options and translates them into ours. */
export function toKoaSetup(site: OptionSite, options: KoaOptions): KoaSetup {
  refuseRequest(site, options);
  refuseNotKept(site, options, "koa-ratelimit", NOT_KEPT);
  const { headers } = readOptions(site, OPTIONS, options);
  refuseBoth(site, options, EITHER_OR);
  const { max = MAX_DEFAULT, limit = max } = options;
  const window = { windowMs: options.duration, windowMsDefault: DURATION_MS_DEFAULT };
  return {
    requestHandler: toLimitHandler(site, toOwn(options), limit, window),
    isBlocked: options.blacklist,
    answer: toAnswer(options),
    setFields: isRecord(headers) ? toSetFields(headers as Required<KoaFieldNames>) : undefined,
  };
}

function toOwn(options: KoaOptions): RateLimitOptions<Context> {
  const { limit: _limit, ...own }: Record<string, unknown> = { ...options };
  for (const name of Object.keys(FROM_KOA_RATELIMIT)) delete own[name];
  const { id, whitelist, onLimited } = options;
  if (id !== undefined) {
    own.key = (ctx: Context) =>
      andThen(id(ctx), (key) => (key === false ? undefined : toKey("id", key)));
  }
  if (whitelist !== undefined) own.skip = whitelist;
  if (onLimited !== undefined) own.onRefused = (_info: unknown, ctx: Context) => onLimited(ctx);
  if (options.disableHeader) Object.assign(own, { headers: "none", legacyHeaders: false });
  if (isRecord(options.headers)) {
    delete own.headers;
    own.legacyHeaders = false;
  }
  return own as unknown as RateLimitOptions<Context>;
}

function toAnswer(options: KoaOptions): KoaSetup["answer"] {
  const { errorMessage, status, throw: throws = false } = options;
  if (errorMessage === undefined && status === undefined && !throws) return undefined;
  return (ctx, handled) => {
    const refusal = handled.refusal as Refusal;
    const code = status ?? STATUS_DEFAULT;
    const body = errorMessage ?? refusal.body;
    const hasOtherBody = throws || errorMessage !== undefined;
    const fields = hasOtherBody ? withoutFields(refusal.fields, BODY_FIELDS) : refusal.fields;
    const headers: Record<string, string> = {};
    eachField(fields, (name, value) => {
      headers[name] = value;
    });
    // Koa forgets the headers of a response when something is thrown, and keeps those of the error.
    if (throws) {
      const message = typeof errorMessage === "string" ? errorMessage : "Too many requests";
      ctx.throw(code, message, { headers, body });
    }
    ctx.status = code;
    ctx.body = body;
    ctx.set(headers);
  };
}

function toSetFields({
  remaining,
  reset,
  total,
}: Required<KoaFieldNames>): NonNullable<KoaSetup["setFields"]> {
  return (ctx, info) => {
    if (info.limit === Number.POSITIVE_INFINITY) return;
    ctx.set(remaining, `${info.remaining}`);
    ctx.set(reset, `${Math.ceil(info.resetTime.getTime() / 1_000)}`);
    ctx.set(total, `${info.limit}`);
  };
}

/** Options that are not supported, and what to do instead. */
const NOT_KEPT = {
  driver: "leave it out to count in memory, or pass store: redisStore(client)",
  db: "leave it out to count in memory, or pass store: redisStore(client)",
  namespace: "pass name: …, or redisStore(client, { prefix: … })",
};
