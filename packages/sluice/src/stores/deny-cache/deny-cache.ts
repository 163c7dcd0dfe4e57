// The deny cache: a cost that the store has refused until a certain time is refused in process until then, so a flood
// of an exhausted key does not reach the store. Only a refund, a reset, an unblock or a rule change can make such a
// refusal wrong before its time. Those made in this process clear the entries that they affect; those made elsewhere
// are noticed when the entry expires, within a second.

import { type Clock, toClock } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../base/maybe-promise.js";
import { readOptions } from "../../base/shapes/code-options.js";
import { anything, object, optional, wholeNumber, withDefault } from "../../base/shapes/shapes.js";
import type { Limit } from "../../limits/limits.js";
import { isSameCounter, mergeEqual, spreadVerdicts } from "../charges.js";
import { ForwardingStore } from "../forwarding-store.js";
import { guardedFor } from "../guarded.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
  Store,
} from "../store.js";
import { Denials, isCacheable, type Sending } from "./denials.js";

/** Options of {@link denyCache}. */
export interface DenyCacheOptions {
  /** The most keys whose refusals are remembered; beyond it the oldest is forgotten. Default 10,000. */
  keysMax?: number;
  /**
   * How long a refusal is trusted at most, in milliseconds from 1 to 1,000; default 1,000. It is
   * how late a refund, reset or unblock by another process can be noticed.
   */
  denyCacheMsMax?: number;
  /** Default: monotonic time. */
  clock?: Clock;
}

/** Statistics of a deny cache. */
export interface DenyCacheStats {
  /** Keys with a refusal, refusals that ended but were not yet overwritten included. */
  readonly keys: number;
  /** Requests that were refused without asking the store. */
  readonly hits: number;
}

const SITE = { name: "denyCache", code: "SLUICE_OPTION_INVALID" } as const;
/** Refusals are kept in a Map, which ends at some 16 million. */
const KEYS_MAX = 10_000_000;
/** Longer would save one call a second and key, and make operators wait. */
const LIFE_MS_MAX = 1_000;
const OPTIONS = object({
  keysMax: withDefault(wholeNumber({ min: 1, max: KEYS_MAX }), 10_000),
  denyCacheMsMax: withDefault(wholeNumber({ min: 1, max: LIFE_MS_MAX }), LIFE_MS_MAX),
  clock: optional(anything()),
} satisfies Record<keyof DenyCacheOptions, unknown>);

/** A store whose refusals are remembered in process. Made by {@link denyCache}. */
export class DenyCacheStore extends ForwardingStore {
  readonly #clock: Clock;
  readonly #denials: Denials;
  #hits = 0;
  /** Requests that the store has not answered yet. */
  #underWay = 0;

  constructor(store: Store, options: DenyCacheOptions = {}) {
    super(store);
    const { keysMax, denyCacheMsMax, clock } = readOptions(SITE, OPTIONS, options);
    this.#denials = new Denials({ keysMax, lifeMsMax: denyCacheMsMax });
    this.#clock = toClock(SITE, clock);
  }

  get stats(): DenyCacheStats {
    return { keys: this.#denials.keys, hits: this.#hits };
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    // Read before asking: however long the answer takes, the wait began no earlier than now.
    const clockMs = this.#clock.now();
    const known = this.#denials.find(counter, key, cost, clockMs, nowMs);
    if (known !== undefined) {
      this.#hits++;
      return known;
    }
    const { clears } = this.#denials;
    const answer = super.decideOne(counter, key, cost, nowMs, blockNowMs);
    if (isThenable(answer) || !answer.allowed) {
      return this.#learnOne(answer, { counter, key, cost, nowMs }, { clockMs, clears });
    }
    if (cost > 0) this.#denials.outdate(counter.scope, key);
    return answer;
  }

  /**
   * If an enforced charge is known to be refused, all are refused in process. Of the others nothing
   * is known then: they are shown as allowed, with 0 remaining. A request with an id always goes
   * to the store, since it may have been admitted before and is then answered again.
   */
  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    const clockMs = this.#clock.now();
    const merged = mergeEqual(charges);
    const known = options?.requestId === undefined ? this.#findAny(merged, clockMs) : undefined;
    if (known !== undefined) {
      this.#hits++;
      return { allowed: false, verdicts: spreadVerdicts(known, charges, merged), receipts: [] };
    }
    const sending = { clockMs, clears: this.#denials.clears };
    return this.#learnFrom(super.decide(charges, options), ({ allowed, verdicts }) => {
      for (let i = 0; i < merged.length; i++) {
        const charge = merged[i];
        const verdict =
          verdicts[
            merged === charges ? i : charges.findIndex((other) => isSameCounter(other, charge))
          ];
        // One that passes alone is not charged if another refuses: it changes nothing.
        if (allowed || !verdict.allowed) this.#learn(charge, verdict, sending);
      }
    });
  }

  /** Known refusals are answered in process; the store is asked only about the rest. */
  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    const clockMs = this.#clock.now();
    const known = charges.map((charge) => this.#find(charge, clockMs));
    const asked = charges.filter((_, i) => known[i] === undefined);
    if (asked.length === 0) return known as readonly Verdict[];
    const sending = { clockMs, clears: this.#denials.clears };
    const verdicts = this.#learnFrom(super.peek(asked, options), (answers) => {
      for (const [i, charge] of asked.entries()) {
        if (!answers[i].allowed) this.#denials.remember(charge, answers[i], sending);
      }
    });
    return andThen(verdicts, (answers) => {
      let next = 0;
      return known.map((verdict) => verdict ?? answers[next++]);
    });
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    return this.#clearAround(charges, () => super.debit(charges));
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    const changing = settlings.filter(({ receipt, kept }) => kept !== receipt.cost);
    const receipts = changing.map(({ receipt }) => receipt);
    return this.#clearAround(receipts, () => super.settle(settlings));
  }

  override refund(charges: readonly Charge[]): MaybePromise<RefundedUnits> {
    return this.#clearAround(charges, () => super.refund(charges));
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.#clearAround(charges, () => super.reset(charges));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return this.#clearAround([{ counter: { scope }, key }], () => super.block(scope, key, until));
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    return this.#clearAround([{ counter: { scope }, key }], () => super.unblock(scope, key));
  }

  protected override learnBlock(scope: string, key: string): void {
    this.#denials.clear(scope, key);
    if (this.#underWay === 0) this.#denials.settle();
  }

  override close(): MaybePromise<void> {
    this.#denials.clearAll();
    return super.close();
  }

  #findAny(charges: readonly Charge[], clockMs: number): readonly Verdict[] | undefined {
    if (this.#denials.keys === 0) return undefined;
    const found = charges.map((charge) => this.#find(charge, clockMs));
    if (found.every((verdict) => verdict === undefined)) return undefined;
    return found.map((verdict, i) => verdict ?? unknownVerdict(charges[i].counter.limit));
  }

  #find(charge: Charge, clockMs: number): Verdict | undefined {
    if (!isCacheable(charge)) return undefined;
    const { counter, key, cost, nowMs } = charge;
    return this.#denials.find(counter, key, cost, clockMs, nowMs);
  }

  /** Remembers a refusal. An admission makes other callers wait longer than was known. */
  #learn(charge: Charge, verdict: Verdict, sending: Sending): void {
    const { counter, key, cost } = charge;
    if (!verdict.allowed) this.#denials.remember(charge, verdict, sending);
    else if (cost > 0) this.#denials.outdate(counter.scope, key);
  }

  // Apart from `decideOne`: a function that makes closures pays for them on every way through it.
  #learnOne(
    answer: MaybePromise<Verdict>,
    charge: Charge,
    sending: Sending,
  ): MaybePromise<Verdict> {
    return this.#learnFrom(answer, (verdict) => this.#learn(charge, verdict, sending));
  }

  /** Lets `learn` see an answer, now or when it comes, and hands the answer on. */
  #learnFrom<T>(answer: MaybePromise<T>, learn: (value: T) => void): MaybePromise<T> {
    if (!isThenable(answer)) {
      learn(answer);
      return answer;
    }
    this.#underWay++;
    const arrive = () => {
      this.#underWay--;
      if (this.#underWay === 0) this.#denials.settle();
    };
    // Not `finally`: its promises take a tenth of the processor time of a decision over Redis (bench redis/strict).
    return Promise.resolve(answer).then(
      (value) => {
        try {
          learn(value);
        } finally {
          arrive();
        }
        return value;
      },
      (error: unknown) => {
        arrive();
        throw error;
      },
    );
  }

  /**
   * Clears keys around a call that changes how long they wait: before it, since the next request
   * may be served after it, and once more when it is over, since what was refused meanwhile may be
   * from before it. A call that fails may have been carried out.
   */
  #clearAround<T>(keys: readonly Touched[], call: () => MaybePromise<T>): MaybePromise<T> {
    const clear = () => {
      for (const { counter, key } of keys) this.#denials.clear(counter.scope, key);
      if (this.#underWay === 0) this.#denials.settle();
    };
    clear();
    const done = call();
    return isThenable(done) ? Promise.resolve(done).finally(clear) : done;
  }
}

/**
 * Puts a deny cache in front of a store: what the store refused is refused in process until its
 * `retryAfterMs` is over, at most {@link DenyCacheOptions.denyCacheMsMax}. Such an answer comes
 * immediately and has the source `"deny-cache"`; its `remaining` is that of the store's answer. Concurrency
 * limits, shadow charges, charges with a `caller` and answers of a fallback or a lease are never
 * remembered. A limit that is split into shards has its cache behind the split.
 */
export function denyCache(store: Store, options?: DenyCacheOptions): DenyCacheStore {
  return new DenyCacheStore(guardedFor(store, options), options);
}

/** A key under the limits of a scope. */
interface Touched {
  readonly counter: Pick<Counter, "scope">;
  readonly key: string;
}

/** Stands for a charge that the store was not asked about. */
function unknownVerdict({ capacity: limit }: Limit): Verdict {
  const unknown = { remaining: 0, retryAfterMs: 0, resetMs: 0, delayMs: 0 };
  return { allowed: true, limit, ...unknown, source: "deny-cache" };
}
