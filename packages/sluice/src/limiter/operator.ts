// What an operator's verbs report: how much was refunded, and whether there was a block to end. Most stores report
// neither, so the state is read before and after the change; requests of the same key in between make it inexact.

import { andThen, isThenable, type MaybePromise } from "../base/maybe-promise.js";
import type { Charge, CounterStatus, Store } from "../stores/store.js";

/**
 * Refunds charges of one key, all of the same cost, and returns the whole units that were refunded: the most under
 * any limit, since some limits may have had less in use.
 */
export function refundCharges(store: Store, charges: readonly Charge[]): MaybePromise<number> {
  if (charges.length === 0) return 0;
  const [{ cost }] = charges;
  return andThen(usedOf(store, charges), (before) =>
    andThen(store.refund(charges), (units) =>
      units === undefined
        ? andThen(usedOf(store, charges), (after) => toRefunded(cost, before, after))
        : Math.max(...units),
    ),
  );
}

/**
 * Ends the blocks of a key in the scopes of these charges, and returns whether there was one. If the store does not
 * answer, ending the block reports that.
 */
export function unblockCharges(
  store: Store,
  charges: readonly Charge[],
  blockNowMs: number,
): MaybePromise<boolean> {
  const scopes = new Map(charges.map(({ counter, key }) => [counter.scope, key]));
  const end = (wasBlocked: boolean): MaybePromise<boolean> => {
    const ended = [...scopes].map(([scope, key]) => store.unblock(scope, key));
    return ended.some(isThenable) ? Promise.all(ended).then(() => wasBlocked) : wasBlocked;
  };
  const looked = attempt(
    () => store.peek(charges, { blockNowMs }),
    (verdicts) => verdicts.some(({ blockedMs }) => blockedMs !== undefined),
  );
  return andThen(looked, (wasBlocked) => end(wasBlocked ?? false));
}

type Uses = readonly number[] | undefined;

/** What is in use under each limit; undefined if the store did not answer, which the refund itself reports. */
function usedOf(store: Store, charges: readonly Charge[]): MaybePromise<Uses> {
  return attempt(
    () => store.debit(charges.map((charge) => ({ ...charge, cost: 0 }))),
    (statuses: readonly CounterStatus[]) => statuses.map(({ used }) => used),
  );
}

/** Less than a unit that was in use counts as one: it was made whole. */
function toRefunded(units: number, before: Uses, after: Uses): number {
  if (before === undefined || after === undefined) return units;
  const most = Math.max(...before.map((used, i) => used - after[i]));
  return Math.min(units, Math.max(0, Math.ceil(most - ROUNDING)));
}

/** The largest rounding error of doubles. */
const ROUNDING = 1e-6;

/** Asks, and reads the answer; undefined if there is none. */
function attempt<T, U>(
  ask: () => MaybePromise<T>,
  read: (answer: T) => U,
): MaybePromise<U | undefined> {
  try {
    const asked = ask();
    return isThenable(asked) ? asked.then(read, () => undefined) : read(asked);
  } catch {
    return undefined;
  }
}
