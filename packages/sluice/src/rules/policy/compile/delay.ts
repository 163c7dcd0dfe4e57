// Delays: a rule with `onExceed: delay` on a token bucket lets a request take tokens that are still to
// come. It counts in a bucket that is larger by what refills within the longest delay; a request that
// goes beyond the bucket's own capacity waits until they are there. A wait is at most one
// millisecond longer than it has to be, and never shorter.

import type { Verdict } from "../../../base/decision.js";
import { ITEMS_A_STEP, type Steps } from "../../../base/steps.js";
import { concurrency, type Limit, tokenBucket } from "../../../limits/limits.js";
import { allLimitsOf, type Rule } from "../../rule.js";

/** How long requests may have to wait before they go on, and a permit's time starts. */
export class LongestDelays {
  /** By rules with `onExceed: delay`. */
  #bucketMs = 0;
  /** By shapers, for each step in which charges reach a store together. */
  readonly #shaperMs = new Map<string, number>();
  readonly #stepOf: (rule: Rule) => string;

  private constructor(stepOf: (rule: Rule) => string) {
    this.#stepOf = stepOf;
  }

  /** Those of a set of rules. */
  static *of(rules: readonly Rule[], stepOf: (rule: Rule) => string): Steps<LongestDelays> {
    const delays = new LongestDelays(stepOf);
    for (const [i, rule] of rules.entries()) {
      if (rule.onExceed === "delay") {
        delays.#bucketMs = Math.max(delays.#bucketMs, rule.delayMsMax);
      }
      for (const limit of allLimitsOf(rule)) delays.#noteShaper(rule, limit);
      if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
    }
    return delays;
  }

  /**
   * What a store can't know of the wait before a rule's permits start. Of shapers that it is asked about
   * together with them it does.
   */
  before(rule: Rule): number {
    let longestMs = this.#bucketMs;
    if (this.#shaperMs.size === 0) return longestMs;
    const own = this.#stepOf(rule);
    for (const [step, ms] of this.#shaperMs) {
      if (step !== own) longestMs = Math.max(longestMs, ms);
    }
    return longestMs;
  }

  #noteShaper(rule: Rule, limit: Limit): void {
    if (limit.algorithm !== "leakyBucket" || limit.mode !== "shape") return;
    const step = this.#stepOf(rule);
    const ms = Math.ceil((limit.queueSize * 1_000) / limit.ratePerSecond);
    this.#shaperMs.set(step, Math.max(ms, this.#shaperMs.get(step) ?? 0));
  }
}

/** The limit that is really counted for a limit of a rule. */
export function toDelayed(limit: Limit, rule: Rule, extraPermitMs: number): Limit {
  if (limit.algorithm === "concurrency" && extraPermitMs > 0) {
    // A permit's time starts when its request continues, which may be after the longest delay.
    return concurrency({ limit: limit.capacity, permitMs: limit.permitMs + extraPermitMs });
  }
  if (rule.onExceed !== "delay" || limit.algorithm !== "tokenBucket") return limit;
  const { amount, everyMs } = limit.refill;
  const ahead = Math.floor((amount * rule.delayMsMax) / everyMs);
  return tokenBucket({ capacity: limit.capacity + ahead, refill: limit.refill });
}

/**
 * The cost that is really charged. What is above the rule's own capacity never fits, though the
 * larger bucket might hold it: no wait within any bound would make it a burst that the rule allows.
 */
export function toDelayedCost(cost: number, limit: Limit, counted: Limit): number {
  return cost > limit.capacity ? Math.max(cost, counted.capacity + 1) : cost;
}

/**
 * A verdict on the larger bucket, under the rule's own numbers: what goes beyond its capacity waits.
 * `untaken` is what the verdict allows and has not charged: the cost under `peek`, else 0.
 */
export function withDelay(
  verdict: Verdict,
  { limit, counted, untaken }: { limit: Limit; counted: Limit; untaken: number },
): Verdict {
  if (limit.algorithm !== "tokenBucket") return verdict;
  const { amount, everyMs } = limit.refill;
  // A fallback decides under a share of the limit and of its rate, so its times are the same.
  const share = verdict.limit / counted.capacity;
  const ahead = Math.ceil((counted.capacity - limit.capacity) * share);
  const beyondMs = verdict.resetMs + ((untaken - limit.capacity) * everyMs) / amount;
  return {
    ...verdict,
    limit: Math.max(1, verdict.limit - ahead),
    remaining: Math.max(0, verdict.remaining - ahead),
    delayMs: verdict.allowed ? Math.max(0, Math.ceil(beyondMs)) : 0,
  };
}
