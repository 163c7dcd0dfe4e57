// Rules with `across: split` whose shares follow demand: every charge is counted in the region's own store, under the share
// that the region has at the moment.

import type { Verdict } from "../../../base/decision.js";
import { andThen, isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Limit } from "../../../limits/limits.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type { Escalated, RefusalReport } from "../../refusal-reports.js";
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
} from "../../store.js";
import { shareOfLimit } from "../region-shares.js";
import { LearnedShare, type LearnedShareSetup, toFraction } from "./learned-share.js";
import { keptParts, sharesByParts } from "./share-parts.js";
import {
  type SharedCharge,
  SharedCounter,
  SharedProof,
  scopesOf,
  strictestOf,
  toSharedReceipts,
} from "./shared-counters.js";

/** What learned shares are made with. */
export interface LearnedSharesSetup extends LearnedShareSetup {
  readonly weights: ReadonlyMap<string, number>;
}

/** How long a refused cost that only a larger share could admit is asked to wait. */
const LARGER_SHARE_MS = 5_000;

/** The shares of all rules of a policy. */
export class LearnedShares {
  readonly #setup: LearnedSharesSetup;
  /** Weak: a share is learned for as long as a counter of its rule is in use. */
  readonly #shares = new Map<string, WeakRef<LearnedShare>>();
  readonly #users = new WeakMap<Counter, LearnedShare>();
  readonly #counters = new WeakMap<Counter, SharedCounter>();

  constructor(setup: LearnedSharesSetup) {
    this.#setup = setup;
  }

  /** The region's share of each rule, from 0 to 1. */
  get fractions(): ReadonlyMap<string, number> {
    return new Map(this.#inUse().map((share) => [share.rule, toFraction(share)]));
  }

  /** Adds a counter to its rule: as long as it is in use, shares outlast what it may have counted. */
  include(counter: Counter): void {
    const { scope, limit } = counter;
    if (sharesByParts(limit, this.#kept) === undefined) return;
    const share = this.#shareOf(scope);
    share.include(limit);
    this.#users.set(counter, share);
  }

  /** How a counter of a rule is counted. */
  of(counter: Counter): SharedCounter {
    const known = this.#counters.get(counter);
    if (known !== undefined) return known;
    const { weights, self } = this.#setup;
    const { scope, limit } = counter;
    const byParts = sharesByParts(limit, this.#kept);
    const share = this.#shareOf(scope);
    if (byParts !== undefined) share.include(limit);
    const byWeight = shareOfLimit(limit, weights, self);
    const made = new SharedCounter(counter, share, { byParts, byWeight });
    this.#counters.set(counter, made);
    return made;
  }

  close(): void {
    for (const share of this.#inUse()) share.close();
  }

  /** The shares of rules in force. Those of rules that were removed are dropped. */
  #inUse(): readonly LearnedShare[] {
    const inUse: LearnedShare[] = [];
    for (const [rule, ref] of this.#shares) {
      const share = ref.deref();
      if (share === undefined) this.#shares.delete(rule);
      else inUse.push(share);
    }
    return inUse;
  }

  /** The fewest parts that any region can have: all regions find the same limits learnable. */
  get #kept(): number {
    return Math.min(...[...this.#setup.byWeight.values()].map(keptParts));
  }

  #shareOf(scope: string): LearnedShare {
    // Tiers of a rule are counted under its id and their name.
    const [rule] = scope.split("/");
    const known = this.#shares.get(rule)?.deref();
    if (known !== undefined) return known;
    const share = new LearnedShare(rule, this.#setup);
    this.#shares.set(rule, new WeakRef(share));
    return share;
  }
}

/**
 * Counts under the share of the moment, and notes what is asked for. It stands in front of leases and of the deny cache: what
 * they answer is demand too.
 */
export class LearnedSplitStore extends ForwardingStore {
  readonly #shares: LearnedShares;

  constructor(inner: Store, shares: LearnedShares) {
    super(inner);
    this.#shares = shares;
  }

  override decide(charges: readonly Charge[], options?: DecideOptions): MaybePromise<Outcome> {
    for (const { counter, cost } of charges) this.#shares.of(counter).share.note(cost);
    return andThen(this.#ready(charges), () => {
      const shared = this.#toShared(charges);
      const isKnown = charges.every(({ counter }) => this.#shares.of(counter).isKnown);
      const decided = isKnown
        ? this.inner.decide(all(shared), options)
        : this.decideByPolicy(all(shared), options);
      return andThen(decided, (outcome) => ({
        ...outcome,
        verdicts: toVerdicts(shared, outcome.verdicts),
        receipts: toSharedReceipts(shared, outcome.receipts),
      }));
    });
  }

  override decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs?: number,
  ): MaybePromise<Verdict> {
    const known = this.#shares.of(counter);
    const { inForce } = known;
    if (inForce.length > 1 || known.share.ready() !== undefined || !known.isKnown) {
      const options = blockNowMs === undefined ? {} : { blockNowMs };
      const outcome = this.decide([{ counter, key, cost, nowMs }], options);
      return andThen(outcome, ({ verdicts }) => verdicts[0]);
    }
    known.share.note(cost);
    const verdict = super.decideOne(inForce[0], key, cost, nowMs, blockNowMs);
    if (!isThenable(verdict)) return withHope(verdict, counter, cost);
    return verdict.then((answer) => withHope(answer, counter, cost));
  }

  override settle(settlings: readonly Settling[]): MaybePromise<void> {
    const own = settlings.flatMap((settling) => {
      const { proof } = settling.receipt;
      if (!(proof instanceof SharedProof)) return [settling];
      return proof.receipts.map((receipt) => ({ ...settling, receipt }));
    });
    return this.inner.settle(own);
  }

  override keep(receipt: ChargeReceipt): void {
    const { proof } = receipt;
    const own = proof instanceof SharedProof ? proof.receipts : [receipt];
    for (const each of own) super.keep(each);
  }

  override peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): MaybePromise<readonly Verdict[]> {
    return andThen(this.#ready(charges), () => {
      const shared = this.#toShared(charges);
      return andThen(this.inner.peek(all(shared), options), (found) => toVerdicts(shared, found));
    });
  }

  override debit(charges: readonly Charge[]): MaybePromise<readonly CounterStatus[]> {
    const shared = this.#toShared(charges);
    return andThen(this.inner.debit(all(shared)), (statuses) =>
      // The first counter is that of the share in force.
      toGroups(shared, statuses).map(([own]) => own),
    );
  }

  override refund(charges: readonly Charge[]): MaybePromise<void> {
    return andThen(this.inner.refund(all(this.#toShared(charges))), () => undefined);
  }

  override reset(charges: readonly Charge[]): MaybePromise<void> {
    return this.inner.reset(all(this.#toShared(charges)));
  }

  override block(
    scope: string,
    key: string,
    until: { untilMs: number; nowMs: number },
  ): MaybePromise<void> {
    return inAll(scopesOf(scope).map((each) => this.inner.block(each, key, until)));
  }

  override escalate(reports: readonly RefusalReport[]): MaybePromise<readonly Escalated[]> {
    const inAllScopes = reports.map((report) => ({
      ...report,
      blockScopes: report.blockScopes.flatMap(scopesOf),
    }));
    return super.escalate(inAllScopes);
  }

  override unblock(scope: string, key: string): MaybePromise<void> {
    return inAll(scopesOf(scope).map((each) => this.inner.unblock(each, key)));
  }

  override forget(counter: Counter): void {
    for (const each of this.#shares.of(counter).inForce) this.inner.forget?.(each);
  }

  override prepare(limit: Limit, counter?: Counter): void {
    if (counter !== undefined) this.#shares.include(counter);
    super.prepare(limit);
  }

  override close(): MaybePromise<void> {
    this.#shares.close();
    return this.inner.close();
  }

  #toShared(charges: readonly Charge[]): readonly SharedCharge[] {
    return charges.map((charge) => ({
      charge,
      charges: this.#shares.of(charge.counter).inForce.map((counter) => ({ ...charge, counter })),
    }));
  }

  #ready(charges: readonly Charge[]): MaybePromise<unknown> {
    const waiting = charges.flatMap(({ counter }) => this.#shares.of(counter).share.ready() ?? []);
    return waiting.length === 0 ? undefined : Promise.all(waiting);
  }
}

function all(shared: readonly SharedCharge[]): readonly Charge[] {
  return shared.flatMap(({ charges }) => charges);
}

/** What belongs to each charge. */
function toGroups<T>(
  shared: readonly SharedCharge[],
  found: readonly T[],
): readonly (readonly T[])[] {
  let next = 0;
  return shared.map(({ charges }) => {
    const group = found.slice(next, next + charges.length);
    next += charges.length;
    return group;
  });
}

function toVerdicts(
  shared: readonly SharedCharge[],
  found: readonly Verdict[],
): readonly Verdict[] {
  return toGroups(shared, found).map((group, i) => {
    const { counter, cost } = shared[i].charge;
    return withHope(strictestOf(group), counter, cost);
  });
}

function inAll(done: readonly MaybePromise<void>[]): MaybePromise<void> {
  return done.some(isThenable) ? Promise.all(done).then(() => undefined) : undefined;
}

/** A cost above the share is refused for now, not for ever: the limit as a whole has room for it. */
function withHope(verdict: Verdict, { limit }: Counter, cost: number): Verdict {
  const { retryAfterMs, blockedMs } = verdict;
  if (retryAfterMs !== Number.POSITIVE_INFINITY || blockedMs !== undefined) return verdict;
  return cost > limit.capacity ? verdict : { ...verdict, retryAfterMs: LARGER_SHARE_MS };
}
