// Resolves API keys by a look-up that takes time, such as a query to a database. Known keys are answered from memory.
// An unknown key costs one look-up, shared by all requests that wait for it, and what was not found is remembered for a
// while. A flood of invented keys reaches the look-up at a bounded rate, and evicts no known key.

import { BoundedMap } from "../../../base/bounded-map.js";
import { type Clock, startTimer, toClock } from "../../../base/clock.js";
import { isThenable, type MaybePromise, notify } from "../../../base/maybe-promise.js";
import { anyFunction, type OptionSite, readOptions } from "../../../base/shapes/code-options.js";
import {
  anything,
  choice,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import { createLimiter } from "../../../limiter/limiter.js";
import type { Limiter } from "../../../limiter/limiter-verbs.js";
import { tokenBucket } from "../../../limits/limits.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { hashSecret, makeHashSecret } from "../secrets.js";
import type { KeyAnswer, KeyResolver } from "./key-resolver.js";
import type { ResolvedKey } from "./resolved-key.js";
import { toResolvedKey } from "./resolved-key.js";

/** Options of {@link cachedKeyResolver}. */
export interface CachedKeyResolverOptions {
  /**
   * Finds what an API key stands for; undefined or null if there is no such key. It may throw, reject or take too long:
   * known keys go on working then, and for others `onUnavailable` holds. Compare keys by a hash, and never log them.
   */
  lookup: (key: string) => MaybePromise<ResolvedKey | undefined | null>;
  /** How many keys are remembered, and as many unknown ones besides: 1 to 1,000,000; default 10,000. */
  keysMax?: number;
  /**
   * How long an answer is used, in milliseconds, and so how long a revoked key works at most. A key in use is looked
   * up again before that. 100 to 86,400,000; default 60,000.
   */
  cacheMs?: number;
  /** How long a key that was not found stays unknown, in milliseconds: 0 to 86,400,000; default 5,000. */
  negativeMs?: number;
  /** How many keys that are not known are looked up in a second: 1 to 100,000; default 100. */
  lookupsPerSecond?: number;
  /** How long a look-up may take, in milliseconds: 1 to 60,000; default 1,000. */
  timeoutMs?: number;
  /**
   * What happens to a request whose key is not known and can't be looked up, since the look-up fails or too many are
   * asked for: `"refuse"` (default, 401), or `"anonymous"`: it continues as if it had no key.
   */
  onUnavailable?: "refuse" | "anonymous";
  /** Called with what a look-up failed with. */
  onError?: (error: unknown) => void;
  /** Default: the system's. */
  clock?: Clock;
}

/** A {@link KeyResolver} with a memory. */
export interface CachedKeyResolver extends KeyResolver {
  /** Forgets the key with this id, or everything: the next request looks it up again. */
  invalidate(id?: string): void;
}

const SITE: OptionSite = { name: "cachedKeyResolver", code: "SLUICE_OPTION_INVALID" };
const DAY_MS = 86_400_000;
const OPTIONS = object({
  lookup: required(anyFunction),
  keysMax: withDefault(wholeNumber({ min: 1, max: 1_000_000 }), 10_000),
  cacheMs: withDefault(wholeNumber({ min: 100, max: DAY_MS }), 60_000),
  negativeMs: withDefault(wholeNumber({ min: 0, max: DAY_MS }), 5_000),
  lookupsPerSecond: withDefault(wholeNumber({ min: 1, max: 100_000 }), 100),
  timeoutMs: withDefault(wholeNumber({ min: 1, max: 60_000 }), 1_000),
  onUnavailable: withDefault(choice(["refuse", "anonymous"]), "refuse"),
  onError: optional(anyFunction),
  clock: optional(anything()),
} satisfies Record<keyof CachedKeyResolverOptions, unknown>);
/** How long a known key is used further before a look-up that failed is repeated. */
const RETRY_MS = 1_000;
/** Look-ups of known keys that are under way at the same time; beyond it, known answers are used further. */
const REFRESHES_MAX = 100;
/** The only key of the limiter that counts look-ups. */
const LOOKUPS = "lookups";

/**
 * Makes a resolver out of a look-up.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function cachedKeyResolver(options: CachedKeyResolverOptions): CachedKeyResolver {
  const { clock, ...given } = readOptions(SITE, OPTIONS, options);
  return new KeyCache({ ...given, clock: toClock(SITE, clock) });
}

interface KeyCacheSetup extends Required<Omit<CachedKeyResolverOptions, "onError">> {
  readonly onError: CachedKeyResolverOptions["onError"];
}

interface KnownKey {
  readonly key: ResolvedKey;
  /** From then on it is looked up again while it is used. */
  refreshAtMs: number;
  /** From then on it has to be looked up first. */
  staleAtMs: number;
}

class KeyCache implements CachedKeyResolver {
  readonly #setup: KeyCacheSetup;
  readonly #limiter: Limiter;
  /** Keys are remembered by a hash that only this process can make. */
  readonly #hashSecret = makeHashSecret();
  readonly #known: BoundedMap<string, KnownKey>;
  /** Until when a key counts as unknown. */
  readonly #unknown: BoundedMap<string, number>;
  readonly #underWay = new Map<string, Promise<KeyAnswer>>();
  /** Answers to look-ups that began before it changed are not remembered. */
  #generation = 0;

  constructor(setup: KeyCacheSetup) {
    this.#setup = setup;
    this.#known = new BoundedMap(setup.keysMax);
    this.#unknown = new BoundedMap(setup.keysMax);
    const { lookupsPerSecond: rate, clock } = setup;
    this.#limiter = createLimiter({
      limit: tokenBucket({ capacity: rate, refillPerSecond: rate }),
      store: memoryStore({ keysMax: 1 }),
      clock,
    });
  }

  resolve(key: string): MaybePromise<KeyAnswer> {
    const hash = hashSecret(key, this.#hashSecret);
    const nowMs = this.#setup.clock.now();
    const known = this.#known.get(hash);
    if (known !== undefined) return this.#answerKnown(key, hash, known, nowMs);
    const unknownUntilMs = this.#unknown.get(hash);
    if (unknownUntilMs !== undefined && nowMs < unknownUntilMs) return undefined;
    const underWay = this.#underWay.get(hash);
    if (underWay !== undefined) return underWay;
    return this.#limiter.check(LOOKUPS).allowed
      ? this.#lookUp(key, hash, undefined)
      : this.#unavailable;
  }

  invalidate(id?: string): void {
    this.#generation++;
    this.#unknown.clear();
    this.#underWay.clear();
    if (id === undefined) this.#known.clear();
    else for (const [hash, { key }] of this.#known) if (key.id === id) this.#known.delete(hash);
  }

  #answerKnown(key: string, hash: string, known: KnownKey, nowMs: number): MaybePromise<KeyAnswer> {
    // The keys that are used stay.
    this.#known.set(hash, known);
    if (nowMs < known.refreshAtMs) return known.key;
    const isStale = nowMs >= known.staleAtMs;
    let found = this.#underWay.get(hash);
    if (found === undefined && this.#underWay.size < this.#underWayMax) {
      const answer = this.#lookUp(key, hash, known);
      if (!isThenable(answer)) return answer;
      found = answer;
    }
    return isStale && found !== undefined ? found : known.key;
  }

  /** Known keys are refreshed beside the look-ups of unknown ones, which a flood may use up. */
  get #underWayMax(): number {
    const { lookupsPerSecond, timeoutMs } = this.#setup;
    return REFRESHES_MAX + Math.ceil((lookupsPerSecond * (timeoutMs + 1_000)) / 1_000);
  }

  get #unavailable(): KeyAnswer {
    return this.#setup.onUnavailable === "refuse" ? "unchecked" : "anonymous";
  }

  #lookUp(key: string, hash: string, known: KnownKey | undefined): MaybePromise<KeyAnswer> {
    const generation = this.#generation;
    const take = (found: unknown) => this.#take(found, hash, known, generation);
    const fail = (error: unknown) => this.#fail(error, hash, known);
    try {
      const found = this.#setup.lookup(key);
      if (!isThenable(found)) return take(found);
      const answer = this.#within(Promise.resolve(found)).then(take).catch(fail);
      const ended = answer.finally(() => {
        if (this.#underWay.get(hash) === ended) this.#underWay.delete(hash);
      });
      this.#underWay.set(hash, ended);
      return ended;
    } catch (error) {
      return fail(error);
    }
  }

  #within<T>(found: Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#setup;
    return new Promise((resolve, reject) => {
      const cancel = startTimer(clock, timeoutMs, () => {
        reject(new Error(`the look-up of an API key took more than ${timeoutMs} ms`));
      });
      found.finally(cancel).then(resolve, reject);
    });
  }

  /** @throws SluiceError if the look-up answered neither a key nor that there is none. */
  #take(found: unknown, hash: string, known: KnownKey | undefined, generation: number): KeyAnswer {
    const isMissing = found === undefined || found === null;
    const key = isMissing ? undefined : toResolvedKey(SITE, found);
    if (generation !== this.#generation) return key;
    const { clock, cacheMs, negativeMs } = this.#setup;
    const nowMs = clock.now();
    if (key === undefined) {
      if (known !== undefined) this.#known.delete(hash);
      if (negativeMs > 0) this.#unknown.set(hash, nowMs + negativeMs);
    } else {
      const [refreshAtMs, staleAtMs] = [nowMs + cacheMs / 2, nowMs + cacheMs];
      this.#known.set(hash, { key, refreshAtMs, staleAtMs });
      this.#unknown.delete(hash);
    }
    return key;
  }

  /** A key that is known stays so, however long look-ups fail. */
  #fail(error: unknown, hash: string, known: KnownKey | undefined): KeyAnswer {
    notify(() => this.#setup.onError?.(error));
    if (known === undefined || this.#known.get(hash) !== known) return this.#unavailable;
    known.refreshAtMs = this.#setup.clock.now() + RETRY_MS;
    known.staleAtMs = Math.max(known.staleAtMs, known.refreshAtMs);
    return known.key;
  }
}
