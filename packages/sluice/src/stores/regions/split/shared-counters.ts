// The counters of a limit under learned shares. A counter never changes its numbers while processes of the region may use
// different shares: what was used beyond the smaller one would be lost. So each share has counters of its own, and while
// they are not complete, those of the share before are charged as well, and both have to admit.

import type { Verdict } from "../../../base/decision.js";
import type { Limit } from "../../../limits/limits.js";
import type { Charge, ChargeReceipt, Counter } from "../../store.js";
import type { LearnedShare } from "./learned-share.js";

/** What separates the counters of shares: ids of rules and names of tiers have no such character. Shares take turns. */
const SUFFIXES = ["", "#share"] as const;
/** The counters of processes that don't know their region's share. What they count is not in the store. */
const UNKNOWN_SUFFIX = "#unknown";

/** All scopes that a scope is counted under. */
export function scopesOf(scope: string): readonly string[] {
  return [...SUFFIXES, UNKNOWN_SUFFIX].map((suffix) => scope + suffix);
}

/** One counter of a rule, as a region counts it. */
export class SharedCounter {
  readonly share: LearnedShare;
  readonly #counter: Counter;
  /** Undefined if its share stays as the weights say. */
  readonly #byParts: ReadonlyMap<number, Limit> | undefined;
  readonly #byWeight: readonly Counter[];
  readonly #made = new Map<string, Counter>();

  constructor(
    counter: Counter,
    share: LearnedShare,
    limits: { byParts: ReadonlyMap<number, Limit> | undefined; byWeight: Limit },
  ) {
    this.#counter = counter;
    this.share = share;
    this.#byParts = limits.byParts;
    this.#byWeight = [Object.freeze({ ...counter, limit: limits.byWeight })];
  }

  /** Whether there is a share to count under. */
  get isKnown(): boolean {
    return this.#byParts === undefined || this.share.inForce !== undefined;
  }

  /** The counters that a charge has to pass now. */
  get inForce(): readonly Counter[] {
    if (this.#byParts === undefined) return this.#byWeight;
    const { inForce, keptParts } = this.share;
    if (inForce === undefined) return [this.#make(keptParts, UNKNOWN_SUFFIX)];
    const { change, parts, before } = inForce;
    const own = this.#make(parts, SUFFIXES[change % 2]);
    return before === undefined ? [own] : [own, this.#make(before, SUFFIXES[(change + 1) % 2])];
  }

  #make(parts: number, suffix: string): Counter {
    const name = `${parts}${suffix}`;
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const limit = this.#byParts?.get(parts) ?? this.#byWeight[0].limit;
    const made = Object.freeze({ ...this.#counter, scope: this.#counter.scope + suffix, limit });
    this.#made.set(name, made);
    return made;
  }
}

/** A charge, and the charges of the counters that it is really counted under. */
export interface SharedCharge {
  readonly charge: Charge;
  readonly charges: readonly Charge[];
}

/** The proofs of a charge under all its counters. */
export class SharedProof {
  readonly receipts: readonly ChargeReceipt[];

  constructor(receipts: readonly ChargeReceipt[]) {
    this.receipts = receipts;
  }
}

/** One receipt for each charge, in place of those of its counters. */
export function toSharedReceipts(
  shared: readonly SharedCharge[],
  receipts: readonly ChargeReceipt[],
): readonly ChargeReceipt[] {
  if (receipts.length === 0) return receipts;
  return shared.flatMap(({ charge, charges }) => {
    const own = receipts.filter(({ counter, key }) =>
      charges.some((each) => each.key === key && isSame(each.counter, counter)),
    );
    const { counter, key, cost } = charge;
    return own.length === 0 ? [] : [{ counter, key, cost, proof: new SharedProof(own) }];
  });
}

function isSame(a: Counter, b: Counter): boolean {
  return a.scope === b.scope && a.part === b.part;
}

/** The verdict of a charge under all its counters: the one that leaves least. */
export function strictestOf(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((a, b) => {
    if (a.allowed !== b.allowed) return a.allowed ? b : a;
    if (!a.allowed) return a.retryAfterMs >= b.retryAfterMs ? a : b;
    return a.remaining <= b.remaining ? a : b;
  });
}
