// What a deny cache knows: which cost of which key was refused, and until when. Bounded, without
// key strings and without timers: an entry that has ended is the same as none. Entries are found by
// scope and key, because that is what a reset or an unblock names, and bound to the limit that
// refused: under other numbers nothing is known.

import { divideDown } from "../../algorithms/whole-numbers.js";
import { BoundedMap } from "../../base/bounded-map.js";
import type { Verdict } from "../../base/decision.js";
import type { Limit } from "../../limits/limits.js";
import { KeyHash } from "../memory/hash.js";
import { toBounds } from "../memory/memory-options.js";
import type { Charge, Counter } from "../store.js";

/** When a request was sent. */
export interface Sending {
  /** By the cache's own clock. */
  readonly clockMs: number;
  /** How much had been cleared by then; see {@link Denials.clears}. */
  readonly clears: number;
}

/** A refusal by the store. Its waits count from sending. */
interface Denial {
  readonly part: number;
  readonly limit: Limit;
  readonly cost: number;
  readonly verdict: Verdict;
  readonly clockMs: number;
  /** The charge's own time: another clock than the cache's for quotas and explicit times. */
  readonly nowMs: number;
  /** How long it is trusted. */
  readonly lifeMs: number;
}

/** Refusals kept for one key: of several limits, or of costs that say nothing about each other. */
const DENIALS_MAX = 8;
/** Keys known as cleared while requests are under way; beyond it nothing sent before is kept. */
const CLEARED_MAX = 1_024;

/** The refusals that are known, of at most `keysMax` keys. */
export class Denials {
  readonly #lifeMsMax: number;
  readonly #prints = new KeyPrints();
  readonly #byPrint: BoundedMap<number, readonly Denial[]>;
  /** What was cleared while requests were under way, and the number of that clearing. */
  readonly #clearedByPrint = new BoundedMap<number, number>(CLEARED_MAX);
  #clears = 0;
  /** Nothing that was sent before this clearing is kept, whatever its key. */
  #clearsOfAll = 0;

  constructor(bounds: { keysMax: number; lifeMsMax: number }) {
    this.#byPrint = new BoundedMap(bounds.keysMax);
    this.#lifeMsMax = bounds.lifeMsMax;
  }

  /** Keys with a refusal, ended ones that were not yet overwritten included. */
  get keys(): number {
    return this.#byPrint.size;
  }

  /** How often something was cleared. An answer is older than what was cleared since its sending. */
  get clears(): number {
    return this.#clears;
  }

  /** The refusal of this cost as it stands now, or undefined if only the store knows. */
  find(
    counter: Counter,
    key: string,
    cost: number,
    clockMs: number,
    nowMs: number,
  ): Verdict | undefined {
    if (this.#byPrint.size === 0) return undefined;
    const denials = this.#byPrint.get(this.#prints.of(counter.scope, key));
    if (denials === undefined) return undefined;
    for (const denial of denials) {
      if (denial.cost > cost || !isUnder(denial, counter)) continue;
      const agedMs = ageMs(denial, clockMs, nowMs);
      const waitMs = agedMs < denial.lifeMs ? waitMsOf(denial, cost) : undefined;
      if (waitMs !== undefined) return toVerdict(denial, waitMs, agedMs);
    }
    return undefined;
  }

  /** Keeps a refusal, unless it does not last or its key was cleared since it was asked for. */
  remember(charge: Charge, verdict: Verdict, { clockMs, clears }: Sending): void {
    if (!isCacheable(charge) || !isLasting(charge, verdict)) return;
    const { counter, key, cost, nowMs } = charge;
    const print = this.#prints.of(counter.scope, key);
    const clearedAs = this.#clearedByPrint.get(print) ?? 0;
    if (Math.max(clearedAs, this.#clearsOfAll) > clears) return;
    const lifeMs = Math.min(verdict.retryAfterMs, this.#lifeMsMax);
    const { part, limit } = counter;
    // It covers larger costs too.
    const others = (this.#byPrint.get(print) ?? []).filter(
      (other) => other.cost < cost || !isUnder(other, counter),
    );
    const latest = { part, limit, cost, verdict, clockMs, nowMs, lifeMs };
    this.#byPrint.set(print, [...others.slice(1 - DENIALS_MAX), latest]);
  }

  /** Forgets a key that was charged: what was known of its waits is too short now. */
  outdate(scope: string, key: string): void {
    if (this.#byPrint.size > 0) this.#byPrint.delete(this.#prints.of(scope, key));
  }

  /** Forgets a key under all limits of a scope, and what requests under way will bring of it. */
  clear(scope: string, key: string): void {
    const print = this.#prints.of(scope, key);
    this.#byPrint.delete(print);
    const forgotten = this.#clearedByPrint.set(print, ++this.#clears);
    if (forgotten !== undefined) this.#clearsOfAll = forgotten;
  }

  /** Forgets all, and what requests under way will bring. */
  clearAll(): void {
    this.#byPrint.clear();
    this.#clearedByPrint.clear();
    this.#clearsOfAll = ++this.#clears;
  }

  /** To be called when no request is under way: nothing older than what was cleared can come. */
  settle(): void {
    this.#clearedByPrint.clear();
  }
}

/** Fingerprints of a scope and a key together: 53 bits, which a Map takes as a number. */
class KeyPrints {
  readonly #keyHash: KeyHash;
  readonly #scopeHash: KeyHash;
  #scope: string | undefined;

  constructor() {
    // Seeded at random as a memory store is, and the two apart: with one hash for both, a key that
    // spells out its scope would cancel it.
    const { low, high } = toBounds({}).seed;
    this.#keyHash = new KeyHash({ low, high });
    this.#scopeHash = new KeyHash({ low: ~low, high: high ^ low });
  }

  of(scope: string, key: string): number {
    // Nearly always the scope is that of the request before.
    if (scope !== this.#scope) {
      this.#scopeHash.hash(scope);
      this.#scope = scope;
    }
    this.#keyHash.hash(key);
    const low = this.#keyHash.low ^ this.#scopeHash.low;
    const high = this.#keyHash.high ^ this.#scopeHash.high;
    return (high >>> 0) * 2 ** 21 + (low >>> 11);
  }
}

function isUnder(denial: Denial, { part, limit }: Counter): boolean {
  return denial.limit === limit && denial.part === part;
}

/**
 * Whether a refusal of such a charge holds for the next one. Permits come back at any time, a shadow
 * refuses no request, and where callers are counted separately one may have no room while others have.
 */
export function isCacheable({ counter, shadow, caller }: Charge): boolean {
  return shadow !== true && caller === undefined && counter.limit.algorithm !== "concurrency";
}

/** Whether a verdict says that this cost is refused until then, and only a refund can end that earlier. */
function isLasting({ counter, cost }: Charge, verdict: Verdict): boolean {
  const { allowed, limit, remaining, retryAfterMs, source } = verdict;
  if (allowed || source === "fallback" || source === "lease") return false;
  // Refused by another limit in front of the store: it says nothing about this one.
  if (limit !== counter.limit.capacity) return false;
  // Refused though it would fit: the store had no room for it, and may have some at any time.
  return remaining < cost && retryAfterMs > 0;
}

/** How old it is, by the clock on which more time has passed. A clock that went back ends it. */
function ageMs(denial: Denial, clockMs: number, nowMs: number): number {
  const byClockMs = clockMs - denial.clockMs;
  const byChargeMs = nowMs - denial.nowMs;
  if (!(byClockMs >= 0 && byChargeMs >= 0)) return Number.POSITIVE_INFINITY;
  return Math.max(byClockMs, byChargeMs);
}

/**
 * How long a cost of at least the denied one waits, counted from sending; undefined if that can't be
 * known. Never too short, and at most a millisecond too long where a bucket's times were rounded.
 */
function waitMsOf({ cost: denied, limit, verdict }: Denial, cost: number): number | undefined {
  const { retryAfterMs, resetMs } = verdict;
  if (cost === denied) return retryAfterMs;
  if (cost > limit.capacity) return Number.POSITIVE_INFINITY;
  switch (limit.algorithm) {
    case "tokenBucket":
    case "leakyBucket": {
      // It fits while the other units are still to flow in: so long before the bucket is full.
      const others = (limit.capacity - cost) * limit.ticksPerUnit;
      return Math.max(retryAfterMs, resetMs - divideDown(others, limit.ticksPerMs));
    }
    case "fixedWindow":
    case "quota":
    case "sketch":
      // A wait that ends before the window does is a block's: the window may refuse for longer.
      return retryAfterMs === resetMs ? retryAfterMs : undefined;
    default:
      return undefined;
  }
}

function toVerdict({ limit, verdict }: Denial, waitMs: number, agedMs: number): Verdict {
  const refused: Verdict = {
    allowed: false,
    limit: limit.capacity,
    remaining: verdict.remaining,
    retryAfterMs: waitMs - agedMs,
    resetMs: Math.max(0, verdict.resetMs - agedMs),
    delayMs: 0,
    source: "deny-cache",
  };
  const blockedMs = (verdict.blockedMs ?? 0) - agedMs;
  return blockedMs > 0 ? { ...refused, blockedMs } : refused;
}
