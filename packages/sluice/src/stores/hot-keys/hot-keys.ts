// Hot keys: those that are asked for most are found by a bounded sketch and decided out of leases for
// as long as they are hot; all others stay strict. So a store is spared its few busiest keys, and
// they need not be known beforehand.

import { type CancelTimer, type Clock, startTimer, toClock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { anyFunction, type OptionSite, readOptions } from "../../base/shapes/code-options.js";
import { anything, object, optional, wholeNumber, withDefault } from "../../base/shapes/shapes.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import { type HotLeaseOptions, hotLease } from "../leased/lease-options.js";
import { LeasedStore } from "../leased/leased.js";
import { isLeasable } from "../leased/leases/leasable.js";
import { KEY_CHARS_MAX } from "../leased/leases/lease-table.js";
import type { LeasedStats } from "../leased/leases/leased-stats.js";
import { MillisecondClock } from "../leased/leases/millisecond-clock.js";
import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  Store,
} from "../store.js";
import { type Heavy, HeavyHitters, type Watched } from "./heavy-hitters.js";

/** A key became hot and is leased, or has cooled and is strict again. */
export interface HotKeyEvent {
  readonly kind: "heated" | "cooled";
  /** The limiter or rule. */
  readonly scope: string;
  /** The key as it is: hash it before it is logged. */
  readonly key: string;
  /** Decisions a second by this process, lately. */
  readonly perSecond: number;
}

/** One of the keys that are asked for most. */
export interface HotKey {
  readonly scope: string;
  readonly key: string;
  /** Decisions a second by this process, estimated over the last second or two. */
  readonly perSecond: number;
  /** Whether it is leased now. */
  readonly isHot: boolean;
}

/** Options of {@link hotKeys}. */
export interface HotKeysOptions {
  /** Decisions per second, in this process, from which a key is hot; default 100. */
  hotPerSecond?: number;
  /** How many keys are watched, of all limits together; default 1,000. */
  keysMax?: number;
  /** Options of the leases of hot keys, as of `leased`; `warmAfter` is 1 by default. */
  lease?: HotLeaseOptions;
  /** Called when a key becomes hot or cools. Exceptions that it throws are ignored. */
  onEvent?: (event: HotKeyEvent) => void;
  /** Default: monotonic time of this process. */
  clock?: Clock;
}

/** Statistics of a store of hot keys. */
export interface HotKeysStats {
  /** Keys that are hot now, and how often one became so. */
  readonly hotKeys: number;
  readonly heated: number;
  readonly lease: LeasedStats;
}

/** The watched keys of one counter. */
interface Group {
  readonly counter: Counter;
  readonly canBeHot: boolean;
  readonly watched: Watched<Group>;
}

const SITE: OptionSite = { name: "hotKeys", code: "SLUICE_OPTION_INVALID" };
const BOUNDS = { min: 1, max: 1_000_000 };
const OPTIONS = object({
  hotPerSecond: withDefault(wholeNumber(BOUNDS), 100),
  keysMax: withDefault(wholeNumber(BOUNDS), 1_000),
  lease: withDefault(hotLease, {}),
  onEvent: withDefault(anyFunction, () => {}),
  clock: optional(anything()),
} satisfies Record<keyof HotKeysOptions, unknown>);
const PERIOD_MS = 1000;
/** A hot key cools below this share of what made it hot, so that it does not flicker. */
const COOL_SHARE = 0.5;

/** A store in front of another one that leases hot keys. Made by {@link hotKeys}. */
export class HotKeysStore extends ForwardingStore {
  readonly #leased: LeasedStore;
  readonly #hotPerSecond: number;
  readonly #onEvent: (event: HotKeyEvent) => void;
  readonly #clock: Clock;
  readonly #millisecondClock: MillisecondClock;
  readonly #hitters: HeavyHitters<Group>;
  readonly #groups = new WeakMap<Counter, Group>();
  #lastGroup: Group | undefined;
  #rollsAtMs = 0;
  #hot = 0;
  #heated = 0;
  #stopTimer: CancelTimer | undefined;

  constructor(inner: Store, options: HotKeysOptions = {}) {
    super(inner);
    const { hotPerSecond, keysMax, lease, onEvent, clock } = readOptions(SITE, OPTIONS, options);
    this.#hotPerSecond = hotPerSecond;
    this.#clock = toClock(SITE, clock);
    this.#onEvent = onEvent;
    this.#millisecondClock = new MillisecondClock(this.#clock);
    this.#leased = new LeasedStore(inner, { ...lease, clock: this.#clock });
    this.#hitters = new HeavyHitters(keysMax, (heavy) => this.#cool(heavy));
  }

  get stats(): HotKeysStats {
    return { hotKeys: this.#hot, heated: this.#heated, lease: this.#leased.stats };
  }

  /** The keys that are asked for most, the busiest first: at most `count` of those watched. */
  top(count: number): readonly HotKey[] {
    this.#rollBy(this.#clock.now());
    return [...this.#hitters]
      .map((heavy) => ({
        scope: heavy.group.counter.scope,
        key: heavy.key,
        perSecond: perSecondOf(heavy),
        isHot: heavy.isHot,
      }))
      .sort((one, other) => other.perSecond - one.perSecond)
      .slice(0, count);
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): MaybePromise<Verdict> {
    const isHot = this.#watch(counter, key, blockNowMs);
    return isHot
      ? this.#leased.decideOne(counter, key, cost, nowMs, blockNowMs)
      : super.decideOne(counter, key, cost, nowMs, blockNowMs);
  }

  override decide(charges: readonly Charge[], options: DecideOptions = {}): MaybePromise<Outcome> {
    let hot = 0;
    for (const { counter, key, nowMs } of charges) {
      if (this.#watch(counter, key, options.blockNowMs ?? nowMs)) hot++;
    }
    if (hot === charges.length) return this.#leased.decide(charges, options);
    // Of a request that is hot in part nothing new is leased; what is held already is used.
    const isLeased = hot > 0 && charges.every(canBeHot);
    return isLeased
      ? this.#leased.decideStrictly(charges, options)
      : this.inner.decide(charges, options);
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    return this.#leased.settle(settlings);
  }

  override keep(receipt: ChargeReceipt): void {
    this.#leased.keep(receipt);
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    const store = charges.every(canBeHot) ? this.#leased : this.inner;
    return store.peek(charges, options);
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return (charges.every(canBeHot) ? this.#leased : this.inner).debit(charges);
  }

  override refund(charges: readonly Charge[]): MaybePromise<void> {
    return this.#split(charges, (store, part) => andThen(store.refund(part), () => undefined));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.#split(charges, (store, part) => store.reset(part));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return this.#leased.block(scope, key, until);
  }

  override escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    return this.#leased.escalate(reports);
  }

  /** Returns what hot keys hold, then closes the inner store. */
  override close(): MaybePromise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    return this.#leased.close();
  }

  /** Does a verb to what may be leased through the leases, and to the rest directly. */
  #split(
    charges: readonly Charge[],
    verb: (store: Store, part: readonly Charge[]) => MaybePromise<void>,
  ): MaybePromise<void> {
    const leasable = charges.filter(canBeHot);
    const others = charges.filter((charge) => !canBeHot(charge));
    const first = leasable.length > 0 ? verb(this.#leased, leasable) : undefined;
    return andThen(first, () => (others.length > 0 ? verb(this.inner, others) : undefined));
  }

  /** Counts an ask. Returns whether the key is hot. */
  #watch(counter: Counter, key: string, blockNowMs: number): boolean {
    const group = this.#groupOf(counter);
    if (key.length > KEY_CHARS_MAX) return false;
    const atMs = this.#millisecondClock.at(blockNowMs);
    if (atMs >= this.#rollsAtMs) this.#rollBy(atMs);
    const heavy = this.#hitters.hit(group, key);
    if (!heavy.isHot && heavy.hits >= this.#hotPerSecond && group.canBeHot) this.#heat(heavy);
    return heavy.isHot;
  }

  #groupOf(counter: Counter): Group {
    const last = this.#lastGroup;
    if (last !== undefined && last.counter === counter) return last;
    const known = this.#groups.get(counter);
    const group = known ?? { counter, canBeHot: canBeHot({ counter }), watched: new Map() };
    this.#groups.set(counter, group);
    this.#lastGroup = group;
    return group;
  }

  /** Begins a new period if it is time: what was asked for too rarely in the last one cools. */
  #rollBy(atMs: number): void {
    if (atMs < this.#rollsAtMs) return;
    // After a pause the last period is one in which nothing was asked for.
    const isPause = atMs >= this.#rollsAtMs + PERIOD_MS;
    this.#rollsAtMs = atMs + PERIOD_MS;
    this.#hitters.roll(isPause ? 2 : 1);
    for (const heavy of this.#hitters) {
      if (heavy.hitsBefore < this.#hotPerSecond * COOL_SHARE) this.#cool(heavy);
    }
  }

  #heat(heavy: Heavy<Group>): void {
    heavy.isHot = true;
    this.#hot++;
    this.#heated++;
    this.#report("heated", heavy);
    if (this.#stopTimer === undefined) this.#startTimer();
  }

  #cool(heavy: Heavy<Group>): void {
    if (!heavy.isHot) return;
    heavy.isHot = false;
    this.#hot--;
    // From here on the store decides: it must have what is left here.
    this.#leased.release(heavy.group.counter.scope, heavy.key);
    this.#report("cooled", heavy);
  }

  #report(kind: HotKeyEvent["kind"], heavy: Heavy<Group>): void {
    const { scope } = heavy.group.counter;
    const event = { kind, scope, key: heavy.key, perSecond: perSecondOf(heavy) };
    // A listener that fails is not a reason to refuse a request, whether it throws or rejects.
    try {
      const result: unknown = this.#onEvent(event);
      if (isThenable(result)) Promise.resolve(result).catch(() => {});
    } catch {
      // Its author's affair.
    }
  }

  /** While there are hot keys, they cool down in time even if no more requests come. */
  #startTimer(): void {
    this.#stopTimer = startTimer(this.#clock, PERIOD_MS, () => {
      this.#stopTimer = undefined;
      this.#millisecondClock.end();
      this.#rollBy(this.#clock.now());
      if (this.#hot > 0) this.#startTimer();
    });
  }
}

/**
 * A store that leases those keys of strict limits that are asked for most, and lets them go back
 * when they cool. Concurrency limits, shapers and logs stay strict. Closing it closes `store`.
 */
export function hotKeys(store: Store, options?: HotKeysOptions): HotKeysStore {
  return new HotKeysStore(guardedFor(store, options), options);
}

/** Logs are left out: leased, each of their entries would have to count for longer everywhere. */
function canBeHot({ counter: { limit } }: Pick<Charge, "counter">): boolean {
  return isLeasable(limit) && limit.algorithm !== "slidingWindowLog";
}

function perSecondOf({ hits, hitsBefore }: Heavy<Group>): number {
  return (Math.max(hits, hitsBefore) * 1000) / PERIOD_MS;
}
