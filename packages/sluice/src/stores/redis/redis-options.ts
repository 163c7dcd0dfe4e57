// The options of a Redis store.

import { type Clock, toClock } from "../../base/clock.js";
import { warn } from "../../base/errors.js";
import {
  anyFunction,
  type OptionSite,
  readOptions,
  secretString,
} from "../../base/shapes/code-options.js";
import {
  anything,
  object,
  optional,
  stringFor,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import { type KeyNaming, looksSecret } from "./keys.js";

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /** What all keys start with; default `"sluice"`. Letters, digits and `_ - . :`. */
  prefix?: string;
  /**
   * With what keys that are secrets are hashed: at least 16 characters, the same on all servers that
   * share limits. Needed as soon as a secret comes: one never gets into Redis as it is.
   */
  keySecret?: string;
  /** Which keys are secrets. Default: those that start with `apiKey:`, `token:`, `session:` … */
  isSecret?: (key: string) => boolean;
  /** For how long an admitted request is remembered by its `requestId`, 1 to a day; default 60,000. */
  idempotencyMs?: number;
  /** Instead of the server's own time, for tests. */
  clock?: Clock;
  /** Called once with what the user of a server should know. Default: a warning of the process. */
  onWarning?: (message: string) => void;
}

/** Options, validated and filled in. */
export interface RedisStoreSetup {
  readonly naming: KeyNaming;
  readonly idempotencyMs: number;
  readonly clock: Clock | undefined;
  /** What is added to every TTL: time of a clock that is injected does not pass by itself. */
  readonly slackMs: number;
  readonly onWarning: (message: string) => void;
}

const SITE: OptionSite = { name: "redisStore", code: "SLUICE_OPTION_INVALID" };
const IDEMPOTENCY_MS = 60_000;
const DAY_MS = 86_400_000;
const INJECTED_SLACK_MS = DAY_MS;
const PREFIX = stringFor({
  what: "1 to 100 letters, digits or _ - . : without braces",
  lengthMax: 100,
  toValue: (given) => (/^[\w.:-]+$/.test(given) ? given : undefined),
});
const OPTIONS = object({
  prefix: withDefault(PREFIX, "sluice"),
  keySecret: optional(secretString),
  isSecret: optional(anyFunction),
  idempotencyMs: withDefault(wholeNumber({ min: 1, max: DAY_MS }), IDEMPOTENCY_MS),
  clock: optional(anything()),
  onWarning: optional(anyFunction),
} satisfies Record<keyof RedisStoreOptions, unknown>);

/** Validates options and fills in defaults. */
export function toSetup(options: RedisStoreOptions): RedisStoreSetup {
  const { prefix, keySecret, isSecret, ...given } = readOptions(SITE, OPTIONS, options);
  return {
    naming: { prefix, keySecret, isSecret: isSecret ?? looksSecret },
    idempotencyMs: given.idempotencyMs,
    clock: given.clock === undefined ? undefined : toClock(SITE, given.clock),
    slackMs: given.clock === undefined ? 0 : INJECTED_SLACK_MS,
    onWarning: given.onWarning ?? warnOf,
  };
}

function warnOf(message: string): void {
  warn("SLUICE_REDIS", message);
}
