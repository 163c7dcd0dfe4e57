// Options of koa-ratelimit, translated into ours as far as possible. The rest is handled here: which callers are
// always refused, how a refusal is answered, and the names of headers.

import type { Context } from "koa";
import { show } from "../../../base/errors.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import {
  asOptions,
  checkBooleans,
  checkFunctions,
  namesOf,
  type OptionSite,
  refuse,
  whole,
} from "../../../base/shapes/code-options.js";
import type { HandledRequest, RateLimitInfo } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import {
  RATE_LIMIT_OPTIONS,
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

/** Options that are not ours. */
const KNOWN_FROM_KOA_RATELIMIT = [
  "max",
  "duration",
  "id",
  "whitelist",
  "blacklist",
  "errorMessage",
  "status",
  "throw",
  "disableHeader",
  "onLimited",
] as const;

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
const STATUS = { min: 400, max: 599 };
const FIELD_NAMES = namesOf<KoaFieldNames>({ remaining: true, reset: true, total: true });

/** Validates options and translates them into ours. */
export function toKoaSetup(site: OptionSite, options: KoaOptions): KoaSetup {
  refuseRequest(site, options);
  refuseNotKept(site, options, "koa-ratelimit", NOT_KEPT);
  asOptions(site, options, [...RATE_LIMIT_OPTIONS, ...KNOWN_FROM_KOA_RATELIMIT]);
  refuseBoth(site, options, EITHER_OR);
  checkFunctions(site, options, ["id", "whitelist", "blacklist", "onLimited"]);
  checkBooleans(site, options, ["throw", "disableHeader"]);
  const { max = MAX_DEFAULT, limit = max } = options;
  const window = { windowMs: options.duration, windowMsDefault: DURATION_MS_DEFAULT };
  return {
    requestHandler: toLimitHandler(site, toOwn(options), limit, window),
    isBlocked: options.blacklist,
    answer: toAnswer(site, options),
    setFields: toSetFields(site, options.headers),
  };
}

function toOwn(options: KoaOptions): RateLimitOptions<Context> {
  const { limit: _limit, ...own }: Record<string, unknown> = { ...options };
  for (const name of KNOWN_FROM_KOA_RATELIMIT) delete own[name];
  const { id, whitelist, onLimited } = options;
  if (id !== undefined) {
    own.key = (ctx: Context) =>
      andThen(id(ctx), (key) => (key === false ? undefined : toKey("id", key)));
  }
  if (whitelist !== undefined) own.skip = whitelist;
  if (onLimited !== undefined) own.onRefused = (_info: unknown, ctx: Context) => onLimited(ctx);
  if (options.disableHeader) Object.assign(own, { headers: "none", legacyHeaders: false });
  if (typeof options.headers === "object" && options.headers !== null) {
    delete own.headers;
    own.legacyHeaders = false;
  }
  return own as unknown as RateLimitOptions<Context>;
}

function toAnswer(site: OptionSite, options: KoaOptions): KoaSetup["answer"] {
  const { errorMessage, status, throw: throws = false } = options;
  if (status !== undefined) whole(site, "status", status, STATUS);
  const isMessage = typeof errorMessage === "object" && errorMessage !== null;
  if (errorMessage !== undefined && typeof errorMessage !== "string" && !isMessage) {
    refuse(site, `errorMessage must be a string or an object, got ${show(errorMessage)}`);
  }
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

function toSetFields(site: OptionSite, headers: KoaOptions["headers"]): KoaSetup["setFields"] {
  if (typeof headers !== "object" || headers === null) return undefined;
  if (Array.isArray(headers)) refuse(site, "headers has remaining, reset and total, got a list");
  for (const [name, value] of Object.entries(headers)) {
    if (!(FIELD_NAMES as readonly string[]).includes(name) || typeof value !== "string") {
      refuse(site, `headers has remaining, reset and total, got ${name}: ${show(value)}`);
    }
  }
  const {
    remaining = "X-RateLimit-Remaining",
    reset = "X-RateLimit-Reset",
    total = "X-RateLimit-Limit",
  } = headers;
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
