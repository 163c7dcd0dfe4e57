// A small limit on what a caller may ask for besides requests that rules count: each answer may take a call of a shared
// store, and must not be the cheapest way to keep that store busy. It is counted in this process.

import type { Clock } from "../base/clock.js";
import type { Decision } from "../base/decision.js";
import { createLimiter } from "../limiter/limiter.js";
import type { Limiter } from "../limiter/limiter-verbs.js";
import { tokenBucket } from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";

/** How often one caller may ask. */
const ASKING = { capacity: 20, refillPerSecond: 5 };
/** How many callers are counted at a time; those that asked least are forgotten first. */
const CALLERS_MAX = 10_000;

/** Counts what each caller asks for. */
export class CallerLimit {
  readonly #clock: Clock;
  /** Made when the first caller asks. */
  #limiter: Limiter | undefined = undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Charges a caller for asking. */
  check(caller: string): Decision {
    this.#limiter ??= createLimiter({
      limit: tokenBucket(ASKING),
      store: memoryStore({ keysMax: CALLERS_MAX }),
      clock: this.#clock,
    });
    return this.#limiter.check(caller);
  }
}
