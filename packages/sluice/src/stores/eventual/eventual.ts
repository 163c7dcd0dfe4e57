// Eventual consistency: decisions are made in process, out of counters that mirror those of the
// store, and what was admitted is sent to the store every `syncMs`. No decision waits. The price is an
// overshoot that is bounded, declared and measured; spending above the limit is debt that all
// processes see at the next sync, so that it is paid back, not repeated.

import { type Clock, toClock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { readOptions } from "../../base/shapes/code-options.js";
import { anything, object, optional, wholeNumber, withDefault } from "../../base/shapes/shapes.js";
import type { Limit } from "../../limits/limits.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import { type MemoryStore, memoryStore } from "../memory/memory-store.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  Store,
} from "../store.js";
import {
  assumeOthers,
  type LocalCounter,
  type LocalCounterSetup,
  usedOf,
} from "./local-counter.js";
import { LocalCounters } from "./local-counters.js";
import { Sync } from "./sync.js";

/** Options of {@link eventual}. */
export interface EventualOptions {
  /** How often what was admitted is synced, in milliseconds from 10 to 60,000; default 100. */
  syncMs?: number;
  /** How many processes share the store: only `overshootMax` depends on it. Default 4. */
  nodes?: number;
  /** The most keys known in this process at the same time; default 100,000. */
  keysMax?: number;
  /** Default: monotonic time. */
  clock?: Clock;
}

/** Statistics of an eventual store. */
export interface EventualStats {
  /** Calls that sent the store what was admitted, of at most 1,000 keys each. */
  readonly syncs: number;
  /** Those of them that failed or had no answer within a second. */
  readonly failures: number;
  /** Keys with something to send. */
  readonly pendingKeys: number;
  /** Units sent so far, refunded ones included. */
  readonly unitsSynced: number;
  /** The most units by which any counter was seen above its limit. */
  readonly overshootUnitsMax: number;
  /** The longest that a sync took, in milliseconds. */
  readonly syncTookMsMax: number;
  /** Units never sent: their key had to make room for others. */
  readonly unitsEvicted: number;
}

const SITE = { name: "eventual", code: "SLUICE_OPTION_INVALID" } as const;
/** Keys are kept in Maps, which end at some 16 million. */
const KEYS_MAX = 10_000_000;
const NODES_MAX = 1_000_000;
const OPTIONS = object({
  syncMs: withDefault(wholeNumber({ min: 10, max: 60_000 }), 100),
  nodes: withDefault(wholeNumber({ min: 1, max: NODES_MAX }), 4),
  keysMax: withDefault(wholeNumber({ min: 1, max: KEYS_MAX }), 100_000),
  clock: optional(anything()),
} satisfies Record<keyof EventualOptions, unknown>);

/** A store that decides in process and syncs what was admitted. Made by {@link eventual}. */
export class EventualStore extends ForwardingStore {
  readonly #local: MemoryStore;
  readonly #localCounters: LocalCounters;
  readonly #setup: LocalCounterSetup;
  readonly #sync: Sync;
  readonly #syncMs: number;
  readonly #nodes: number;
  #isClosed = false;

  constructor(store: Store, options: EventualOptions = {}) {
    super(store);
    const { keysMax, syncMs, nodes, ...given } = readOptions(SITE, OPTIONS, options);
    const clock = toClock(SITE, given.clock);
    this.#syncMs = syncMs;
    this.#nodes = nodes;
    this.#local = memoryStore({ keysMax });
    this.#localCounters = new LocalCounters(keysMax);
    this.#setup = { local: this.#local, syncMs: this.#syncMs };
    this.#sync = new Sync({
      ...this.#setup,
      inner: store,
      localCounters: this.#localCounters,
      clock,
    });
  }

  /** Decisions never come over a network, whatever the store behind. */
  override get isRemote(): boolean {
    return false;
  }

  get stats(): EventualStats {
    const pendingKeys = [...this.#localCounters].filter(
      ({ deltaUnits }) => deltaUnits !== 0,
    ).length;
    return {
      ...this.#sync.counts,
      pendingKeys,
      unitsEvicted: this.#localCounters.unitsEvicted,
    };
  }

  /**
   * The most units that all processes together may admit above `limit`, beyond what it admits by
   * itself: each other process may spend, before it hears of the rest, a full limit and what comes
   * back in `syncMs` and the time of a sync. `syncTookMs`, default: the longest one so far.
   */
  overshootMax(limit: Limit, syncTookMs: number = this.#sync.counts.syncTookMsMax): number {
    const others = this.#nodes - 1;
    if (!("ticksPerMs" in limit)) return others * limit.capacity;
    const unitsPerMs = limit.ticksPerMs / limit.ticksPerUnit;
    return others * (limit.capacity + unitsPerMs * (this.#syncMs + syncTookMs));
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): Verdict {
    const localCounter = this.#look(counter, key, nowMs);
    const verdict = this.#local.decideOne(counter, key, cost, nowMs, blockNowMs);
    if (verdict.allowed) localCounter.deltaUnits += cost;
    else localCounter.isRefused = true;
    return verdict;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): Outcome {
    const localCounters = this.#lookAll(charges);
    if (options?.requestId !== undefined) {
      // A request that was answered before is answered again, and takes nothing.
      return this.#measure(localCounters, charges, () => this.#local.decide(charges, options));
    }
    const outcome = this.#local.decide(charges, options);
    for (const [i, { allowed }] of outcome.verdicts.entries()) {
      if (!allowed) localCounters[i].isRefused = true;
      else if (outcome.allowed) localCounters[i].deltaUnits += charges[i].cost;
    }
    return outcome;
  }

  override peek(charges: readonly Charge[], options?: PeekOptions): readonly Verdict[] {
    this.#lookAll(charges);
    return this.#local.peek(charges, options);
  }

  override debit(charges: readonly Charge[]): readonly CounterStatus[] {
    const localCounters = this.#lookAll(charges);
    const statuses = this.#local.debit(charges);
    for (const [i, { cost }] of charges.entries()) localCounters[i].deltaUnits += cost;
    return statuses;
  }

  override settle(settlings: readonly Settling[]): void {
    for (const settling of settlings) this.#settleOne(settling);
  }

  #settleOne(settling: Settling): void {
    const { receipt, nowMs } = settling;
    const { counter, key } = receipt;
    const localCounter = this.#localCounters.find(counter, key) ?? this.#look(counter, key, nowMs);
    this.#touch(localCounter, nowMs);
    // By the numbers of today: looking by those of the receipt would bring the old ones back.
    const charges = [{ counter: localCounter.counter, key, cost: 0, nowMs }];
    this.#measure([localCounter], charges, () => this.#local.settle([settling]));
  }

  /** Refunds from what was not sent yet first; the rest is the store's. */
  override refund(charges: readonly Charge[]): MaybePromise<void> {
    const localCounters = this.#lookAll(charges);
    this.#local.refund(charges);
    const rest = charges.flatMap((charge, i) => {
      const localCounter = localCounters[i];
      const unsent = Math.min(charge.cost, Math.max(0, localCounter.deltaUnits));
      localCounter.deltaUnits -= unsent;
      localCounter.version++;
      return charge.cost > unsent ? [{ ...charge, cost: charge.cost - unsent }] : [];
    });
    return rest.length === 0 ? undefined : andThen(this.inner.refund(rest), () => undefined);
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    for (const localCounter of this.#lookAll(charges)) {
      localCounter.deltaUnits = 0;
      localCounter.sentUnits = 0;
      localCounter.unsureUnits = 0;
      localCounter.assumedUnits = 0;
      localCounter.assumedSinceUnits = 0;
      localCounter.version++;
    }
    this.#local.reset(charges);
    return this.inner.reset(charges);
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    this.#sync.blocksVersion++;
    this.#local.block(scope, key, until);
    return this.inner.block(scope, key, until);
  }

  protected override learnBlock(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): void {
    this.#sync.blocksVersion++;
    this.#local.blockAtLeast(scope, key, until);
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    this.#sync.blocksVersion++;
    this.#local.unblock(scope, key);
    return this.inner.unblock(scope, key);
  }

  /** Decides no more, sends the store once what is left to send, then closes it. */
  override close(): MaybePromise<void> {
    if (this.#isClosed) return this.inner.close();
    this.#isClosed = true;
    this.#local.close();
    return andThen(this.#sync.close(), () => this.inner.close());
  }

  /** The local counter of a key that is asked for, with what others will have spent charged to it. */
  #look(counter: Counter, key: string, nowMs: number): LocalCounter {
    const localCounter = this.#localCounters.of(counter, key);
    this.#touch(localCounter, nowMs);
    if (localCounter.othersPerMs > 0) assumeOthers(localCounter, this.#setup, nowMs);
    return localCounter;
  }

  #lookAll(charges: readonly Charge[]): LocalCounter[] {
    return charges.map(({ counter, key, nowMs }) => this.#look(counter, key, nowMs));
  }

  #touch(localCounter: LocalCounter, nowMs: number): void {
    localCounter.nowMs = nowMs;
    if (!localCounter.isTouched) this.#sync.enlist(localCounter, nowMs);
  }

  /** Does something, and sends the store the difference that it made. */
  #measure<T>(localCounters: readonly LocalCounter[], charges: readonly Charge[], act: () => T): T {
    const before = charges.map((charge) => usedOf(this.#local, charge));
    const result = act();
    for (const [i, localCounter] of localCounters.entries()) {
      // Charges on the same key made the same difference, once.
      if (localCounters.indexOf(localCounter) !== i) continue;
      localCounter.deltaUnits += Math.round(usedOf(this.#local, charges[i]) - before[i]);
    }
    return result;
  }
}

/**
 * Decides in process, and syncs what was admitted with `store` every `syncMs`. Answers are
 * synchronous, with the source `"memory"`; `remaining` is an estimate. Processes may together admit more
 * than the limit, at most `overshootMax(limit)`, and pay it back. Between syncs each assumes
 * that the others go on spending as before; steady traffic stays within a few percent.
 *
 * While the sync fails each process decides alone; what it admitted is kept, for at most
 * `keysMax` keys, and sent again every `syncMs`. A sync whose answer was lost may have counted,
 * so sending it again may count it twice: that refuses early and never overshoots. If no answer
 * comes at all, its units wait until the store answers, and are sent only once more. Refunded units
 * are sent once for the same reason.
 *
 * A `requestId` counts once in this process, not across processes. Refunds, resets and blocks by
 * other processes are seen within `syncMs`, blocks within a second more. Units spent at the end
 * of a window may be sent in the next one, and count there. Concurrency limits and leaky buckets
 * that shape are refused with `SLUICE_NOT_LEASABLE`.
 */
export function eventual(store: Store, options?: EventualOptions): EventualStore {
  return new EventualStore(guardedFor(store, options), options);
}
