// Options of hono-rate-limiter, translated into ours wherever possible. The rest is handled here: how a refusal is
// answered, and what functions decide.

import type { Context, Next } from "hono";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { type OptionSite, readOptions } from "../../../base/shapes/code-options.js";
import { anything, object, optional } from "../../../base/shapes/shapes.js";
import { RATE_LIMIT_FIELDS, type RateLimitOptions } from "../../handler/http-options.js";
import { BODY_FIELDS } from "../../response/response-headers.js";
import { type EitherOr, refuseBoth } from "../either-or.js";
import {
  EXPRESS_LIKE_FIELDS,
  EXPRESS_LIKE_PAIRS,
  toCounted,
  toHeaderForm,
  toIsCounted,
} from "../express-like-options.js";
import { type HandlerChoice, toHandlerChoice, toKey } from "../handler-choice.js";
import type { HonoOptions } from "./hono-options.js";

/** Options, validated and translated into ours. */
export interface HonoSetup extends HandlerChoice<Context> {
  /** Answers refused requests; undefined: as the response says. */
  readonly answer: HonoRefusalHandler | undefined;
  /** Whether a response counts; undefined: the rule knows. */
  readonly isCounted: ((c: Context) => MaybePromise<boolean>) | undefined;
  /** Where handlers find what was decided. */
  readonly infoName: string;
}

/** Answers a refused request. `refused` is the response that would be sent. */
export type HonoRefusalHandler = (c: Context, next: Next, refused: Response) => unknown;

const OPTIONS = object({
  ...RATE_LIMIT_FIELDS,
  ...EXPRESS_LIKE_FIELDS,
  // Read before: it is here to be known.
  peer: optional(anything()),
} satisfies Record<keyof HonoOptions, unknown>);

const EITHER_OR: EitherOr<keyof HonoOptions> = {
  switches: ["skipFailedRequests", "skipSuccessfulRequests"],
  pairs: EXPRESS_LIKE_PAIRS,
};

const LIMIT_DEFAULT = 5;
const WINDOW_MS_DEFAULT = 60_000;
const STATUS_DEFAULT = 429;
/** What `handler` gets if there is no `message`. */
const MESSAGE_DEFAULT = "Too many requests, please try again later.";
export const INFO_NAME = "rateLimit";

/** Validates options and translates them into ours. */
export function toHonoSetup(site: OptionSite, options: Omit<HonoOptions, "peer">): HonoSetup {
  const { requestPropertyName: infoName = INFO_NAME } = readOptions(site, OPTIONS, options);
  refuseBoth(site, options, EITHER_OR);
  const { limit = LIMIT_DEFAULT, windowMs } = options;
  return {
    ...toHandlerChoice(site, toOwn(options), limit, {
      windowMs,
      windowMsDefault: WINDOW_MS_DEFAULT,
    }),
    answer: toAnswer(options),
    isCounted: toIsCounted(options),
    infoName,
  };
}

function toOwn(options: HonoOptions): RateLimitOptions<Context> {
  const { limit: _limit, ...own }: Record<string, unknown> = { ...options };
  for (const name of Object.keys(EXPRESS_LIKE_FIELDS)) delete own[name];
  const { standardHeaders, keyGenerator: keyOf } = options;
  if (keyOf !== undefined) {
    own.key = (c: Context) => andThen(keyOf(c), (key) => toKey("keyGenerator", key));
  }
  if (standardHeaders !== undefined) own.headers = toHeaderForm(standardHeaders);
  Object.assign(own, toCounted(options, toIsCounted(options) !== undefined));
  return own as unknown as RateLimitOptions<Context>;
}

function toAnswer(options: HonoOptions): HonoRefusalHandler | undefined {
  const { handler, message, statusCode } = options;
  if (handler === undefined && message === undefined && statusCode === undefined) return undefined;
  const status = statusCode ?? STATUS_DEFAULT;
  if (handler !== undefined) {
    const used = { message: MESSAGE_DEFAULT, ...options, statusCode: status };
    return (c, next, refused) => {
      setFields(c, refused);
      return handler(c, next, used);
    };
  }
  if (message === undefined) {
    return (_c, _next, refused) => new Response(refused.body, { status, headers: refused.headers });
  }
  return (c, _next, refused) => {
    setFields(c, refused);
    const found = typeof message === "function" ? message(c) : message;
    return andThen(found as MaybePromise<unknown>, (body) => {
      c.status(status as 429);
      return typeof body === "string" ? c.text(body) : c.json(body as object);
    });
  };
}

/** The headers of a refusal, without those of a body that is not sent. */
function setFields(c: Context, { headers }: Response): void {
  headers.forEach((value, name) => {
    if (!BODY_FIELDS.has(name)) c.header(name, value);
  });
}
