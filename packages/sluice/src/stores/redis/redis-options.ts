// The options of a Redis store.

import { type Clock, toClock } from "../../base/clock.js";
import { show, warn } from "../../base/errors.js";
import {
  asOptions,
  type OptionSite,
  orDefault,
  refuse,
  whole,
} from "../../base/shapes/code-options.js";
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
const KEY_SECRET_LENGTH_MIN = 16;
const INJECTED_SLACK_MS = DAY_MS;

/** Validates options and fills in defaults. */
export function toSetup(options: RedisStoreOptions): RedisStoreSetup {
  const given = asOptions(SITE, options, [
    "prefix",
    "keySecret",
    "isSecret",
    "idempotencyMs",
    "clock",
    "onWarning",
  ]);
  const keySecret = toSecret(given.keySecret);
  const isSecret = toFunction("isSecret", given.isSecret, looksSecret);
  const idempotencyMs = orDefault(given.idempotencyMs, IDEMPOTENCY_MS);
  return {
    naming: { prefix: toPrefix(orDefault(given.prefix, "sluice")), keySecret, isSecret },
    idempotencyMs: whole(SITE, "idempotencyMs", idempotencyMs, { min: 1, max: DAY_MS }),
    clock: given.clock === undefined ? undefined : toClock(SITE, given.clock),
    slackMs: given.clock === undefined ? 0 : INJECTED_SLACK_MS,
    onWarning: toFunction("onWarning", given.onWarning, warnOf),
  };
}

function toPrefix(prefix: unknown): string {
  if (typeof prefix === "string" && /^[\w.:-]{1,100}$/.test(prefix)) return prefix;
  refuse(
    SITE,
    `prefix must be 1 to 100 letters, digits or _ - . : without braces, got ${show(prefix)}`,
  );
}

function toSecret(secret: unknown): string | undefined {
  if (
    secret === undefined ||
    (typeof secret === "string" && secret.length >= KEY_SECRET_LENGTH_MIN)
  )
    return secret;
  // Shown by its type only: it is a secret.
  const seen = typeof secret === "string" ? `${secret.length} characters` : typeof secret;
  refuse(
    SITE,
    `keySecret must be a string of at least ${KEY_SECRET_LENGTH_MIN} characters, got ${seen}`,
  );
}

function toFunction<F>(field: string, value: unknown, byDefault: F): F {
  if (value === undefined) return byDefault;
  if (typeof value === "function") return value as F;
  refuse(SITE, `${field} must be a function, got ${show(value)}`);
}

function warnOf(message: string): void {
  warn("SLUICE_REDIS", message);
}
