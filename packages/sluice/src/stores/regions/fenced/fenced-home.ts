// The store of whichever region is home now. Every charge carries the epoch under which this process knows that region to be
// home, and the store refuses it under any other. So a process that has not heard of a promotion, and a home region
// that comes back after one, can do no harm: what they would decide is answered by `onStoreFailure`.

import type { Verdict } from "../../../base/decision.js";
import { SluiceError } from "../../../base/errors.js";
import { andThen, drop, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Limit } from "../../../limits/limits.js";
import type { Escalated, RefusalReport } from "../../refusal-reports.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
  Store,
} from "../../store.js";
import type { HomeInForce, HomeKeeper } from "./home-keeper.js";
import { PromotionWaits, waitAfterPromotion } from "./promotion-wait.js";

/** What the store is made of. */
export interface FencedHomeSetup {
  readonly keeper: HomeKeeper;
  /** The stores of both regions that may be home, guarded. */
  readonly stores: ReadonlyMap<string, Store>;
  /** The region that is home as configured: asked while nothing else is known. */
  readonly home: string;
  /** Limits that recover within so many milliseconds are refused for as long after a promotion. */
  readonly promotionWaitMs: number;
}

/** Marks a receipt of the home region with the epoch under which it was given. */
class HomeProof {
  readonly receipt: ChargeReceipt;
  readonly epoch: number;

  constructor(receipt: ChargeReceipt, epoch: number) {
    this.receipt = receipt;
    this.epoch = epoch;
  }
}

/** No store is home under it: what is asked before anything is known is refused. */
const NO_EPOCH = 0;

const NOT_YET = Number.NEGATIVE_INFINITY;

/** A home, and its store. */
interface Place {
  readonly epoch: number;
  readonly ageMs: number;
  readonly store: Store;
}

/** The store of the home region in force. */
export class FencedHomeStore implements Store {
  /** The stores behind it are guarded. */
  readonly isGuarded = true;
  readonly #setup: FencedHomeSetup;
  /** The counters under the latest epoch. */
  #counters = new WeakMap<Counter, Counter>();
  #countersEpoch = NO_EPOCH;
  readonly #waits = new PromotionWaits();

  constructor(setup: FencedHomeSetup) {
    this.#setup = setup;
  }

  decide(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    return this.#at((place) => {
      const waits = this.#waitsOf(charges, place);
      if (waits !== undefined) return this.#decideRest(charges, waits, place, options);
      return this.#decideAt(place, charges, options);
    });
  }

  #decideAt(
    place: Place,
    charges: readonly Charge[],
    options: DecideOptions,
  ): MaybePromise<Outcome> {
    const outcome = place.store.decide(this.#under(place, charges), options);
    return andThen(outcome, (answer) => {
      if (answer.verdicts[0]?.source === "fallback") this.#setup.keeper.checkSoon();
      if (answer.receipts.length === 0) return answer;
      const byCounter = new Map(
        charges.map(({ counter }) => [this.#counterUnder(place.epoch, counter), counter]),
      );
      const receipts = answer.receipts.map((receipt) => ({
        ...receipt,
        counter: byCounter.get(receipt.counter) ?? receipt.counter,
        proof: new HomeProof(receipt, place.epoch),
      }));
      return { ...answer, receipts };
    });
  }

  /** Refuses charges that have to wait; the others are decided if none of those is enforced. */
  #decideRest(
    charges: readonly Charge[],
    waits: ReadonlyMap<Charge, Verdict>,
    place: Place,
    options: DecideOptions,
  ): MaybePromise<Outcome> {
    const rest = charges.filter((charge) => !waits.has(charge));
    const isRefused = [...waits.keys()].some(({ shadow }) => shadow !== true);
    const merge = (verdicts: readonly Verdict[]) => {
      let next = 0;
      return charges.map((charge) => waits.get(charge) ?? verdicts[next++]);
    };
    if (rest.length === 0) return { allowed: !isRefused, verdicts: merge([]), receipts: [] };
    if (!isRefused) {
      const outcome = this.#decideAt(place, rest, options);
      return andThen(outcome, (some) => ({ ...some, verdicts: merge(some.verdicts) }));
    }
    return andThen(place.store.peek(this.#under(place, rest), options), (verdicts) => ({
      allowed: false,
      verdicts: merge(verdicts),
      receipts: [],
    }));
  }

  peek(charges: readonly Charge[], options?: PeekOptions): MaybePromise<readonly Verdict[]> {
    return this.#at((place) => {
      const waits = this.#waitsOf(charges, place);
      const verdicts = place.store.peek(this.#under(place, charges), options);
      if (waits === undefined) return verdicts;
      return andThen(verdicts, (all) => all.map((each, i) => waits.get(charges[i]) ?? each));
    });
  }

  debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.#at((place) => place.store.debit(this.#under(place, charges)));
  }

  /** What was charged under another epoch stays spent: its home region no longer counts. */
  settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.#at(({ epoch, store }) => {
      const own = settlings.flatMap((settling) => {
        const { proof } = settling.receipt;
        if (!(proof instanceof HomeProof) || proof.epoch !== epoch) return [];
        return [{ ...settling, receipt: proof.receipt }];
      });
      return own.length === 0 ? undefined : store.settle(own);
    });
  }

  keep({ proof }: ChargeReceipt): void {
    const home = this.#setup.keeper.current;
    if (home === undefined || !(proof instanceof HomeProof) || proof.epoch !== home.epoch) return;
    this.#placeOf(home).store.keep?.(proof.receipt);
  }

  prepare(limit: Limit): void {
    for (const store of this.#setup.stores.values()) store.prepare?.(limit);
  }

  refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.#at((place) => place.store.refund(this.#under(place, charges)));
  }

  reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.#at((place) => place.store.reset(this.#under(place, charges)));
  }

  /** In both regions, so that it outlives a promotion; that of the standby need not succeed. */
  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): MaybePromise<void> {
    return this.#inBoth((store) => store.block(scope, key, until));
  }

  unblock(scope: string, key: string): MaybePromise<void> {
    return this.#inBoth((store) => store.unblock(scope, key));
  }

  /** Counted in the home region; the blocks that come of it are in both, as those of operators are. */
  escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    return this.#at(({ store: home }) => {
      const counted = reports.filter((report) => !this.#waits.hasRefused(report));
      if (home.escalate === undefined) {
        const seen = "the home region's store has no escalate(), which rules with escalate need";
        throw new SluiceError("SLUICE_OPTION_INVALID", seen);
      }
      return andThen(counted.length === 0 ? [] : home.escalate(counted), (escalated) => {
        const byReport = new Map(counted.map((report, i) => [report, escalated[i]]));
        for (const [report, { blockMs }] of byReport) this.#blockElsewhere(home, report, blockMs);
        return reports.map((report) => byReport.get(report) ?? toUncounted(report));
      });
    });
  }

  #blockElsewhere(home: Store, report: RefusalReport, blockMs: number): void {
    if (blockMs === 0) return;
    const { key, blockScopes, nowMs } = report;
    const until = { untilMs: nowMs + blockMs, nowMs };
    for (const scope of blockScopes)
      this.#elsewhere(home, (store) => store.block(scope, key, until));
  }

  /** The stores are their owners' to close. */
  close(): void {}

  #inBoth(act: (store: Store) => MaybePromise<void>): MaybePromise<void> {
    return this.#at(({ store: home }) => {
      this.#elsewhere(home, act);
      return act(home);
    });
  }

  /** Does something in the store that is not home, which need not succeed. */
  #elsewhere(home: Store, act: (store: Store) => MaybePromise<void>): void {
    for (const store of this.#setup.stores.values()) {
      if (store !== home) drop(Promise.resolve().then(() => act(store)));
    }
  }

  #at<T>(act: (place: Place) => MaybePromise<T>): MaybePromise<T> {
    return andThen(this.#setup.keeper.inForce(), (home) => act(this.#placeOf(home)));
  }

  #placeOf(home: HomeInForce | undefined): Place {
    const { stores, home: configured } = this.#setup;
    const store = stores.get(home?.home ?? configured) ?? stores.get(configured);
    return { epoch: home?.epoch ?? NO_EPOCH, ageMs: home?.ageMs ?? NOT_YET, store: store as Store };
  }

  #under({ epoch }: Place, charges: readonly Charge[]): readonly Charge[] {
    return charges.map((charge) => ({
      ...charge,
      counter: this.#counterUnder(epoch, charge.counter),
    }));
  }

  #counterUnder(epoch: number, counter: Counter): Counter {
    if (epoch !== this.#countersEpoch) {
      this.#counters = new WeakMap();
      this.#countersEpoch = epoch;
    }
    const known = this.#counters.get(counter);
    if (known !== undefined) return known;
    const made = Object.freeze({ ...counter, epoch });
    this.#counters.set(counter, made);
    return made;
  }

  /** The refusals of charges that have to wait, after a promotion; undefined if none has to. */
  #waitsOf(
    charges: readonly Charge[],
    { epoch, ageMs }: Place,
  ): ReadonlyMap<Charge, Verdict> | undefined {
    const { promotionWaitMs } = this.#setup;
    if (epoch <= 1 || ageMs >= promotionWaitMs) return undefined;
    const waits = new Map<Charge, Verdict>();
    for (const charge of charges) {
      const verdict = waitAfterPromotion(charge.counter.limit, { ageMs, promotionWaitMs });
      if (verdict === undefined) continue;
      waits.set(charge, verdict);
      this.#waits.note(charge);
    }
    return waits.size === 0 ? undefined : waits;
  }
}

/** What became of refusals that say nothing about the caller. */
function toUncounted({ terms }: RefusalReport): Escalated {
  return { level: 0, blockMs: 0, refusalsLeft: terms.refusals };
}
