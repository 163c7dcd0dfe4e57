// The shapes of the options of the Fastify plugin, for all routes or for one.

import {
  anyFunction,
  nonEmptyString,
  orFunction,
  plainString,
} from "../../../base/shapes/code-options.js";
import {
  anyName,
  anything,
  choice,
  either,
  type Field,
  flag,
  mapOf,
  object,
  optional,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import { RATE_LIMIT_FIELDS, type RateLimitOptions } from "../../handler/http-options.js";
import type { FastifyHook, FastifyLimitOptions, FastifyOptions } from "./fastify-options.js";

/** Where a request may be counted. */
export const HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

const CACHE = { min: 1, max: 100_000_000 };
const HEADERS_MAX = 1_000;

/** As in @fastify/rate-limit, what is empty is the default. */
export const hook: Shape<FastifyHook> = {
  ...choice(HOOKS),
  read: (value, spot) => choice(HOOKS).read(value || "onRequest", spot),
};

const allowList: Shape<unknown> = orFunction(
  either<unknown>("a list or a function", [
    { fits: (value) => value === null || Array.isArray(value), shape: anything() },
  ]),
);

const shownHeaders = mapOf(anyName, anything(), {
  countMin: 0,
  countMax: HEADERS_MAX,
  what: 'an object such as { "retry-after": false }',
});

/** Options of a limit that are not ours. */
export const FROM_FASTIFY = {
  // Invalid numbers are the default, as in @fastify/rate-limit.
  max: optional(anything()),
  timeWindow: optional(anything()),
  ban: optional(anything()),
  ipv6Subnet: optional(anything()),
  keyGenerator: optional(anyFunction),
  allowList: optional(allowList),
  continueExceeding: optional(flag),
  exponentialBackoff: optional(flag),
  hook: withDefault(hook, "onRequest"),
  errorResponseBuilder: optional(anyFunction),
  onExceeding: optional(anyFunction),
  onExceeded: optional(anyFunction),
  onBanReach: optional(anyFunction),
  skipOnError: optional(flag),
  enableDraftSpec: optional(flag),
  addHeaders: optional(shownHeaders),
  addHeadersOnExceeding: optional(shownHeaders),
  groupId: optional(plainString),
} satisfies Record<Exclude<keyof FastifyLimitOptions, keyof RateLimitOptions>, Field<unknown>>;

/** The options of a limit. */
export const LIMIT_OPTIONS = object({ ...RATE_LIMIT_FIELDS, ...FROM_FASTIFY });

/** The options of a limit over a store class of @fastify/rate-limit, which may have options of its own. */
export const FOREIGN_LIMIT_OPTIONS = object(FROM_FASTIFY, { isOpen: true });

/** The options of the plugin that those of a limit don't have. */
export const PLUGIN_OPTIONS = object(
  {
    global: withDefault(flag, true),
    nameSpace: optional(nonEmptyString),
    cache: optional(wholeNumber(CACHE)),
  } satisfies Record<Exclude<keyof FastifyOptions, keyof FastifyLimitOptions>, Field<unknown>>,
  { isOpen: true },
);
