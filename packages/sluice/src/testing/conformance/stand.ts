// What a claim of the conformance kit is checked on: a fresh store, a clock that only the claim
// moves, and a few verbs that read the same for every limit.

import type { Decision, Verdict } from "../../base/decision.js";
import { createLimiter } from "../../limiter/limiter.js";
import type { Limiter } from "../../limiter/limiter-verbs.js";
import type { RequestOptions } from "../../limiter/request-options.js";
import type { Limit } from "../../limits/limits.js";
import type { Charge } from "../../stores/store.js";
import { asAnotherProcess } from "../another-process.js";
import type { Stand } from "./claim.js";
import { toHeld } from "./samples.js";

/**
 * A limiter on the stand's store, and on that alone: nothing answers in its place if it fails. Each is that of
 * another process, so limiters of one name may have different numbers; those that share nothing need names.
 */
export function limiterOn(
  stand: Stand,
  limit: Limit | readonly Limit[],
  name = "default",
): Limiter<false> {
  const { clock } = stand;
  const store = asAnotherProcess(stand.store);
  return createLimiter({ limit, store, clock, name, onStoreFailure: "throw" });
}

/**
 * A limiter together with what it takes to charge it: `acquire` for permits, else `check`. In place of a limit that the
 * store does not hold it has one of as many units that the store does hold.
 */
export class Gate {
  readonly limiter: Limiter<false>;
  readonly #stand: Stand;
  readonly #name: string;
  readonly #limits: readonly Limit[];

  constructor(stand: Stand, limit: Limit | readonly Limit[], name = "default") {
    const limits = "algorithm" in limit ? [limit] : limit;
    this.#limits = limits.map((each) => toHeld(each, stand.algorithms));
    this.limiter = limiterOn(stand, this.#limits, name);
    this.#stand = stand;
    this.#name = name;
  }

  /** Asks for `cost` units, and takes them if they are there. */
  async take(key: string, cost = 1, options: RequestOptions = {}): Promise<Decision> {
    const request = { ...options, cost };
    return isHeld(this.#limits)
      ? this.limiter.acquire(key, request)
      : this.limiter.check(key, request);
  }

  /** What is left for the key under each limit, apart. */
  async left(key: string): Promise<number[]> {
    const verdicts = await this.#stand.store.peek(this.charges(key, 0));
    return verdicts.map((verdict: Verdict) => verdict.remaining);
  }

  /** The charges of a request on this limiter, as it hands them to the store. */
  charges(key: string, cost: number): Charge[] {
    const nowMs = this.#stand.clock.now();
    const scope = this.#name;
    return this.#limits.map((limit, part) => ({
      counter: { scope, part, limit },
      key,
      cost,
      nowMs,
    }));
  }
}

/** Whether these limits are charged by `acquire`. */
export function isHeld(limits: readonly Limit[]): boolean {
  return limits.some((limit) => limit.algorithm === "concurrency");
}
