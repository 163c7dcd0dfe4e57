// A limiter with `escalate`: it counts the refusals that callers are given, and reports them to the store, which blocks
// keys that are refused too often. Around a limiter, so that one without it pays nothing. What `wait` meets while it waits
// does not count: its caller does what Retry-After asks for.

import type { EscalationTerms } from "../algorithms/escalation.js";
import { toWholeMs } from "../base/clock.js";
import type { Decision } from "../base/decision.js";
import { andThen, type MaybePromise, notify } from "../base/maybe-promise.js";
import { isCounted, RefusalCounts } from "../stores/escalation/refusal-counts.js";
import type { LimiterSetup } from "./limiter-options.js";
import type { Limiter } from "./limiter-verbs.js";

/** The same limiter, which also counts refusals. */
export function escalating(
  limiter: Limiter<false>,
  { name, store, clock, onEscalation }: LimiterSetup,
  terms: EscalationTerms,
): Limiter<false> {
  const place = { store, scope: name, blockScopes: [name], terms };
  const counts = new RefusalCounts({
    clock,
    onRaised: ({ key, level, blockMs }) =>
      notify(() => onEscalation?.({ kind: "escalated", key, level, blockMs })),
    onFailed: (error) => notify(() => onEscalation?.({ kind: "escalate-failed", error })),
  });
  const counted = <D extends Decision>(key: string, decided: MaybePromise<D>): MaybePromise<D> =>
    andThen(decided, (decision) => {
      if (isCounted(decision)) counts.note(place, key, name, toWholeMs(clock.now()));
      return decision;
    });
  return {
    check: (key, options) => counted(key, limiter.check(key, options)),
    reserve: (key, options) => counted(key, limiter.reserve(key, options)),
    acquire: (key, options) => counted(key, limiter.acquire(key, options)),
    wait: (key, options) => limiter.wait(key, options),
    peek: (key, options) => limiter.peek(key, options),
    refund: (key, cost, options) => limiter.refund(key, cost, options),
    block: (key, forMs, options) => limiter.block(key, forMs, options),
    unblock: (key, options) => limiter.unblock(key, options),
    reset: (key, options) => limiter.reset(key, options),
    close: () => {
      counts.close();
      return limiter.close();
    },
  };
}
