// Refusals in the way of @fastify/rate-limit: told to callbacks, thrown as what `errorResponseBuilder`
// makes, and 403 for who goes on after so many of them.

import type { FastifyRequest } from "fastify";
import { type Clock, systemClock, toWholeMs } from "../../clock.js";
import { fixedWindow } from "../../limits.js";
import { andThen, isThenable, type MaybePromise } from "../../maybe-promise.js";
import { type OptionSite, refuse, whole } from "../../options.js";
import { chargesOf } from "../../rules/policy-decision.js";
import { toGuarded } from "../../stores/guarded.js";
import type { Counter, Store } from "../../stores/store.js";
import type { Door } from "../door.js";
import type { Passage } from "../passage.js";
import { formatTimeWindow, toTimeWindow } from "../time-window.js";
import { tellWithKey } from "./key.js";
import type { ErrorResponseContext, FastifyLimitOptions } from "./options.js";

const BAN = { min: 0, max: 1_000_000 };
const BANNED_STATUS = 403;

/** Answers the refusals of one limit. */
export class FastifyRefusals {
  readonly #options: FastifyLimitOptions;
  readonly #bans: Bans | undefined;

  /** Undefined if the options have nothing to say about refusals. */
  static of(
    site: OptionSite,
    options: FastifyLimitOptions & { store: Store; name: string },
  ): FastifyRefusals | undefined {
    const { ban, onExceeded, errorResponseBuilder } = options;
    const isBanning = ban !== undefined && ban !== -1;
    if (!isBanning && onExceeded === undefined && errorResponseBuilder === undefined) {
      return undefined;
    }
    return new FastifyRefusals(options, isBanning ? new Bans(site, options) : undefined);
  }

  private constructor(options: FastifyLimitOptions, bans: Bans | undefined) {
    this.#options = options;
    this.#bans = bans;
  }

  /**
   * What Fastify's error handling has to answer; undefined: the door's own refusal. What callbacks throw
   * goes to the door's `onError`.
   */
  toError(passage: Passage, request: FastifyRequest, door: Door): MaybePromise<object | undefined> {
    const { onExceeded, onBanReach } = this.#options;
    tellWithKey(onExceeded, request, door);
    const [charge] = chargesOf(passage.decision);
    if (this.#bans === undefined || charge === undefined) {
      return this.#build(passage, request, false);
    }
    return andThen(this.#bans.isReached(charge.key), (isBanned) => {
      if (isBanned) tellWithKey(onBanReach, request, door);
      return this.#build(passage, request, isBanned);
    });
  }

  #build(passage: Passage, request: FastifyRequest, isBanned: boolean): object | undefined {
    const { errorResponseBuilder } = this.#options;
    if (errorResponseBuilder === undefined && !isBanned) return undefined;
    const context = toContext(passage, isBanned);
    return errorResponseBuilder?.(request, context) ?? new BannedError(context);
  }
}

function toContext({ refusal, limit }: Passage, ban: boolean): ErrorResponseContext {
  const ttl = refusal?.retryAfterMs ?? 0;
  const statusCode = ban ? BANNED_STATUS : (refusal?.status ?? 429);
  // Whole seconds, as Retry-After has them.
  const after = formatTimeWindow(Math.ceil(ttl / 1000) * 1000);
  return { statusCode, ban, after, max: limit, ttl };
}

/** What Fastify answers to who is banned. */
class BannedError extends Error {
  readonly statusCode: number;

  constructor({ statusCode, after }: ErrorResponseContext) {
    super(`Rate limit exceeded, retry in ${after}`);
    this.statusCode = statusCode;
  }
}

/** Counts refusals, in the same windows in which the requests of a key are counted. */
class Bans {
  readonly #refusalsMax: number;
  readonly #counter: Counter;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(site: OptionSite, options: FastifyLimitOptions & { store: Store; name: string }) {
    const { name, clock = systemClock } = options;
    const windowMs = toTimeWindow(site, options.timeWindow);
    if (typeof windowMs === "function") {
      refuse(site, "ban needs a timeWindow that is the same for all requests");
    }
    this.#refusalsMax = whole(site, "ban", options.ban, BAN);
    const limit = fixedWindow({ limit: this.#refusalsMax + 1, windowMs, align: "key" });
    this.#counter = Object.freeze({ scope: `${name}.refused`, part: 0, limit });
    this.#clock = clock;
    this.#store = toGuarded(options.store, { clock });
  }

  /** Counts one more refusal. A store that does not answer bans nobody. */
  isReached(key: string): MaybePromise<boolean> {
    const nowMs = toWholeMs(this.#clock.now());
    const counted = this.#store.debit([{ counter: this.#counter, key, cost: 1, nowMs }]);
    if (!isThenable(counted)) return counted[0].used > this.#refusalsMax;
    return counted.then(
      ([{ used }]) => used > this.#refusalsMax,
      () => false,
    );
  }
}
