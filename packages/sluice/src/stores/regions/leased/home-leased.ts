// Rules with `across: leased` in the home region itself: its store counts what every region leases, so it decides them
// directly, under the same counters as the leases of the other regions.

import type { Verdict } from "../../../base/decision.js";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type {
  Charge,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Store,
} from "../../store.js";
import type { AllHomeTerms } from "./home-terms.js";

/** The home region's store under the counters that other regions lease from. */
export class HomeLeasedStore extends ForwardingStore {
  readonly #terms: AllHomeTerms;

  constructor(home: Store, terms: AllHomeTerms) {
    super(home);
    this.#terms = terms;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    return andThen(this.inner.decide(this.#toHome(charges), options), (outcome) => ({
      ...outcome,
      verdicts: asWhole(outcome.verdicts, charges),
    }));
  }

  override decideOne(
    counter: Charge["counter"],
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    const { counter: home } = this.#terms.of(counter);
    const verdict = super.decideOne(home, key, cost, nowMs, blockNowMs);
    return andThen(verdict, (answer) => asWhole([answer], [{ counter }])[0]);
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    return andThen(this.inner.peek(this.#toHome(charges), options), (verdicts) =>
      asWhole(verdicts, charges),
    );
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.inner.debit(this.#toHome(charges));
  }

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.inner.refund(this.#toHome(charges));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.inner.reset(this.#toHome(charges));
  }

  #toHome(charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => ({
      ...charge,
      counter: this.#terms.of(charge.counter).counter,
    }));
  }
}

/** The limit that a rule has, where the home region counts a part of it. */
function asWhole(
  verdicts: readonly Verdict[],
  charges: readonly Pick<Charge, "counter">[],
): readonly Verdict[] {
  return verdicts.map((verdict, i) => {
    const { capacity: limit } = charges[i].counter.limit;
    return verdict.limit === limit ? verdict : { ...verdict, limit };
  });
}
