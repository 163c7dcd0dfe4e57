// Regions that merge their counts: each decides in its own store, and announces what it admitted to the stores of the
// others, where it is charged as well. A region counts only what it admitted, so that the counts of all regions add up
// whatever arrives twice, late or never. Decisions wait for no other region; what that costs is bounded and measured.

import { type Clock, startTimer, toClock } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import { andThen, isThenable, type MaybePromise, notify } from "../../../base/maybe-promise.js";
import type { Limit } from "../../../limits/limits.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  Settling,
  Store,
} from "../../store.js";
import type { MergedKey } from "./merged-key.js";
import { MergedKeys } from "./merged-keys.js";
import { type MergedOptions, type MergedStats, SITE, toMergedSettings } from "./merged-options.js";
import { PeerRegion } from "./peer-region.js";
import { maySpend, type SpendingSetup, toWait } from "./spending.js";
import { clockCharge, StoreClock } from "./store-clock.js";

/** How often the clock of the own region's store is read. */
const CLOCK_MS = 1_000;

/** When a charge was admitted, and in which window. */
interface Admission {
  readonly atMs: number;
  readonly endMs: number | undefined;
}

/** A store whose counts are merged with those of other regions. Made by {@link merged}. */
export class MergedStore extends ForwardingStore {
  readonly #region: string;
  readonly #own: Store;
  readonly #clock: Clock;
  readonly #syncMs: number;
  readonly #ownClock = new StoreClock();
  readonly #peers: readonly PeerRegion[];
  readonly #keys: MergedKeys;
  readonly #spending: SpendingSetup;
  readonly #admissions = new WeakMap<ChargeReceipt, Admission>();
  #cancelTimer: (() => void) | undefined;
  #readClockAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(store: Store, options: MergedOptions) {
    super(store);
    const { keysMax, syncMs, nodes, clock } = toMergedSettings(options);
    const { region, peers, own = store } = options;
    this.#clock = toClock(SITE, clock);
    this.#region = region;
    this.#own = own;
    this.#syncMs = syncMs;
    const regions = peers.size + 1;
    const setup = { clock: this.#clock, own: this.#ownClock, syncMs, regions, nodes };
    this.#peers = [...peers].map(([name, peer], i) => new PeerRegion(name, i, peer, setup));
    this.#spending = { peers: this.#peers, nodes };
    this.#keys = new MergedKeys({ region, keysMax, peers: this.#peers });
  }

  get stats(): MergedStats {
    return {
      peers: this.#peers.map(({ stats }) => stats),
      keys: this.#keys.size,
      unitsEvicted: this.#keys.unitsEvicted,
    };
  }

  /**
   * The most units that all regions together may admit above `limit`: what the others admit until this one hears of it,
   * within the lag and the time between two announcements. Of each other region that is a full limit, and what comes
   * back in that time, at most. Of a sliding counter it is twice that: the window before counts as well, and what the
   * others admitted at its end was not announced in time.
   *
   * @param lagMs - Default: the longest of now. Of a sliding counter, also that at the end of the window before.
   * @param othersPerMs - Units that all other regions together admit in a millisecond. Default: as many as they can.
   */
  overshootMax(
    limit: Limit,
    lagMs: number = this.#lagMs(),
    othersPerMs: number = Number.POSITIVE_INFINITY,
  ): number {
    const others = this.#peers.length;
    const windows = limit.algorithm === "slidingWindowCounter" ? 2 : 1;
    const unheardMs = windows * (this.#syncMs + lagMs);
    const unitsPerMs = "ticksPerMs" in limit ? limit.ticksPerMs / limit.ticksPerUnit : 0;
    const most = others * (limit.capacity + unitsPerMs * unheardMs);
    return Math.min(most, Math.ceil(othersPerMs * unheardMs));
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    if (!this.#maySpend(counter, key, cost)) {
      const charges = [{ counter, key, cost, nowMs }];
      const options = blockNowMs === undefined ? {} : { blockNowMs };
      return andThen(this.#refuse(charges, options), ({ verdicts }) => verdicts[0]);
    }
    const verdict = super.decideOne(counter, key, cost, nowMs, blockNowMs);
    if (isThenable(verdict)) {
      return verdict.then((answer) => {
        this.#note(counter, key, cost, answer, answer.allowed);
        return answer;
      });
    }
    this.#note(counter, key, cost, verdict, verdict.allowed);
    return verdict;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    const isShort = charges.some(
      ({ counter, key, cost, shadow }) => shadow !== true && !this.#maySpend(counter, key, cost),
    );
    if (isShort) return this.#refuse(charges, options);
    return andThen(super.decide(charges, options), (outcome) => {
      const isTaken = outcome.allowed && outcome.isRepeated !== true;
      for (const [i, { counter, key, cost }] of charges.entries()) {
        const verdict = outcome.verdicts[i];
        this.#note(counter, key, cost, verdict, isTaken && verdict.allowed);
      }
      for (const receipt of outcome.receipts) this.#remember(receipt);
      return outcome;
    });
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return andThen(super.debit(charges), (statuses) => {
      for (const [i, { counter, key, cost }] of charges.entries()) {
        if (cost > 0) this.#note(counter, key, cost, statuses[i], true);
      }
      return statuses;
    });
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    for (const settling of settlings) this.#settleOne(settling);
    return super.settle(settlings);
  }

  /** Grants in all regions: the counters of each hold what all of them admitted. */
  override refund(charges: readonly Charge[]): MaybePromise<void> {
    return this.#everywhere((store) => andThen(store.refund(charges), () => undefined));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.#everywhere((store) => store.reset(charges));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return this.#everywhere((store) => store.block(scope, key, until));
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    return this.#everywhere((store) => store.unblock(scope, key));
  }

  /** Each region keeps levels of its own; a block holds in all of them. */
  protected override learnBlock(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): void {
    for (const { store } of this.#peers) notify(() => store.block(scope, key, until));
  }

  /** Decides no more, announces once what is left to announce, then closes what it decides with. */
  override close(): MaybePromise<void> {
    if (this.#isClosed) return this.inner.close();
    this.#isClosed = true;
    this.#cancelTimer?.();
    const idle = this.#wait(this.#peers.map((peer) => peer.announce([])));
    return andThen(idle, () => {
      this.#keys.wake(this.#clock.now());
      this.#sample();
      // Nothing will be spent any more of what was announced ahead.
      for (const key of this.#keys.active) key.demandPerMs = 0;
      const announced = this.#peers.map((peer) => peer.announce(this.#keys.active));
      return andThen(this.#wait(announced), () => this.inner.close());
    });
  }

  #wait(all: readonly MaybePromise<void>[]): MaybePromise<void> {
    if (!all.some(isThenable)) return undefined;
    return Promise.all(all).then(() => undefined);
  }

  /** In the own region first. A region that can't be reached is an error, and the others have done it. */
  #everywhere(act: (store: Store) => MaybePromise<void>): MaybePromise<void> {
    const done = [this.inner, ...this.#peers.map(({ store }) => store)].map((store) => {
      try {
        return act(store);
      } catch (error) {
        return Promise.reject(error);
      }
    });
    if (!done.some(isThenable)) return undefined;
    return Promise.allSettled(done).then((results) => {
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    });
  }

  #maySpend(counter: Counter, name: string, cost: number): boolean {
    const key = this.#keys.find(counter, name);
    if (key === undefined || cost === 0 || !this.#ownClock.isKnown) return true;
    const nowMs = this.#clock.now();
    return maySpend(key, cost, { ownMs: this.#ownClock.at(nowMs), nowMs }, this.#spending);
  }

  /** Refuses what has to wait until other regions have charged it. */
  #refuse(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    // Before it is asked: by the time of the answer there may be room.
    const isShort = charges.map(({ counter, key, cost }) => !this.#maySpend(counter, key, cost));
    const blockNowMs = options?.blockNowMs;
    const peeked = this.inner.peek(charges, blockNowMs === undefined ? {} : { blockNowMs });
    return andThen(peeked, (known) => {
      const verdicts = known.map((verdict, i) => {
        const { counter, key, cost } = charges[i];
        this.#note(counter, key, cost, verdict, false);
        return isShort[i] ? toWait(verdict, this.#peers) : verdict;
      });
      return { allowed: false, verdicts, receipts: [] };
    });
  }

  #note(counter: Counter, name: string, cost: number, verdict: Verdict, isTaken: boolean): void {
    if (this.#isClosed || cost === 0) return;
    const nowMs = this.#clock.now();
    const key = this.#touch(counter, name, nowMs);
    key.ask(cost, nowMs, verdict.allowed);
    if (isTaken) key.add(cost, this.#storeMs(nowMs));
    if (!this.#ownClock.isKnown) return;
    key.roomUnits = verdict.allowed ? verdict.remaining : Math.min(verdict.remaining, cost - 1);
    key.roomEndMs = key.endMsAt(this.#ownClock.at(nowMs));
  }

  #touch(counter: Counter, name: string, nowMs: number): MergedKey {
    const key = this.#keys.of(counter, name);
    if (!key.isActive) {
      key.start(nowMs);
      this.#keys.activate(key);
    }
    if (this.#cancelTimer === undefined) this.#plan(nowMs);
    return key;
  }

  #remember(receipt: ChargeReceipt): void {
    const nowMs = this.#clock.now();
    const key = this.#keys.find(receipt.counter, receipt.key);
    const storeMs = this.#storeMs(nowMs);
    const endMs = storeMs === undefined ? undefined : key?.endMsAt(storeMs);
    this.#admissions.set(receipt, { atMs: nowMs, endMs });
  }

  /** What was refunded is announced as well, to the window that was charged. */
  #settleOne({ receipt, kept }: Settling): void {
    const { counter, cost } = receipt;
    if (this.#isClosed || kept === cost) return;
    const nowMs = this.#clock.now();
    const key = this.#touch(counter, receipt.key, nowMs);
    const admission = this.#admissions.get(receipt);
    this.#admissions.delete(receipt);
    if (kept > cost || admission?.endMs === undefined) {
      key.add(kept - cost, this.#storeMs(nowMs));
      return;
    }
    const refilled = refilledUnits(counter.limit, nowMs - admission.atMs);
    key.addTo(admission.endMs, -Math.max(0, cost - kept - refilled));
  }

  /** What the own store's clock says; undefined as long as that is not known. */
  #storeMs(nowMs: number): number | undefined {
    return this.#ownClock.isKnown ? this.#ownClock.at(nowMs) : undefined;
  }

  #lagMs(): number {
    return Math.max(0, ...this.#peers.map(({ stats }) => stats.lagMs));
  }

  #plan(nowMs: number): void {
    if (this.#isClosed) return;
    this.#readClock(nowMs);
    this.#cancelTimer = startTimer(this.#clock, this.#syncMs, () => this.#tick());
  }

  #tick(): void {
    this.#cancelTimer = undefined;
    this.#keys.wake(this.#clock.now());
    this.#sample();
    if (this.#ownClock.isKnown) {
      for (const peer of this.#peers) void peer.announce(this.#keys.active);
    }
    this.#keys.sweep(this.#clock.now(), this.#ownClock);
    if (this.#keys.size > 0) this.#plan(this.#clock.now());
  }

  #sample(): void {
    const nowMs = this.#clock.now();
    if (!this.#ownClock.isKnown) return;
    const storeMs = this.#ownClock.at(nowMs);
    for (const key of this.#keys.active) key.sample(nowMs, storeMs);
  }

  #readClock(nowMs: number): void {
    if (nowMs - this.#readClockAtMs < CLOCK_MS && nowMs >= this.#readClockAtMs) return;
    this.#readClockAtMs = nowMs;
    const learn = ([status]: readonly CounterStatus[]) =>
      this.#ownClock.learn(status, nowMs, this.#clock.now());
    try {
      const answer = this.#own.debit([clockCharge(this.#region, nowMs)]);
      if (isThenable(answer)) answer.then(learn, () => {});
      else learn(answer);
    } catch {
      // Read again in a second. Until it is known, nothing can be announced.
    }
  }
}

/** What a bucket has refilled of a charge by itself, at most. */
function refilledUnits(limit: Limit, heldMs: number): number {
  return "ticksPerMs" in limit ? Math.ceil((heldMs * limit.ticksPerMs) / limit.ticksPerUnit) : 0;
}

/**
 * Decides with `store`, and merges what was admitted with the counts of other regions: every `syncMs` it is announced to
 * their stores, which charge it too. Regions may together admit more than the limit, at most `overshootMax(limit)`:
 * what the others admit until they hear of it. While a region can't be reached, both count alone, and announce what they
 * admitted when it is back. Concurrency limits, logs and leaky buckets that shape can't be merged.
 */
export function merged(store: Store, options: MergedOptions): MergedStore {
  return new MergedStore(store, options);
}
