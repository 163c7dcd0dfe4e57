// A request beside the counters of a resilient store: under the same deadline and circuit breaker, and nothing stands in for
// an answer that does not come.

import type { MaybePromise } from "../../base/maybe-promise.js";
import { toUnavailable } from "./store-failure.js";
import { Guarded } from "./store-guard/store-guard.js";

/** Sends a request under the deadline and the breaker of a store. */
export type AskGuarded = <T>(request: Guarded<T, T>) => MaybePromise<T>;

/** A request that fails if no answer comes in time. */
export class PlainRequest<T> extends Guarded<T, T> {
  override readonly size = 1;
  override readonly caller: string;
  readonly #call: () => MaybePromise<T>;
  readonly #late: ((answer: T) => void) | undefined;

  constructor(caller: string, call: () => MaybePromise<T>, late?: (answer: T) => void) {
    super();
    this.caller = caller;
    this.#call = call;
    this.#late = late;
  }

  override send(): MaybePromise<T> {
    return this.#call();
  }

  override accept(answer: T): T {
    return answer;
  }

  override instead(failure: unknown): never {
    throw toUnavailable(failure);
  }

  override late(answer: T): void {
    this.#late?.(answer);
  }
}
