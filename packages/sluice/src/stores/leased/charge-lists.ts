// Requests of several charges, and charges that are held for a moment, out of leases: synchronously if every
// one of them is covered by what is held, all or nothing; else by the inner store. A charge that is
// refunded immediately, because a later rule refuses, returns to the lease it came from.

import type { Verdict } from "../../base/decision.js";
import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { mergeEqual } from "../charges.js";
import type { Charge, ChargeReceipt, DecideOptions, Outcome, Settling, Store } from "../store.js";
import { toVerdict, withOwn } from "./lease-verdicts.js";
import type { KeyLeases } from "./leases/key-leases.js";
import { restoreBrief, type Taken } from "./leases/lease.js";
import type { LeaseAsk } from "./leases/lease-requests.js";
import type { LeaseRow } from "./leases/lease-table.js";
import type { Leases } from "./leases/leases.js";

/** How often a refusal is retried if units of this process were being returned while it was made. */
export const RETRIES_MAX = 3;

/** What covers a charge. */
interface Held {
  readonly row: LeaseRow;
  readonly keyLeases: KeyLeases;
}

/** When a list is asked for, by the clock of blocks and by that of leases. */
type AskTimes = Pick<LeaseAsk, "blockNowMs" | "atMs">;

/** Decides lists. */
export class LeasedLists {
  readonly #inner: Store;
  readonly #leases: Leases;

  constructor(inner: Store, leases: Leases) {
    this.#inner = inner;
    this.#leases = leases;
  }

  /**
   * Decides charges out of leases if all are covered, else by the inner store; keys that are asked for
   * often enough are leased from then on.
   */
  decide(charges: readonly Charge[], options: DecideOptions): MaybePromise<Outcome> {
    // A charge that may be settled after its lease has ended has to come from the store, which can refund it.
    const { requestId, hold = false, blockNowMs = charges[0].nowMs } = options;
    const isShort = requestId === undefined && hold !== true && hold !== "lease";
    if (!isShort || charges.some(isShadow) || mergeEqual(charges) !== charges) {
      return this.decideStrictly(charges, options);
    }
    const atMs = this.#leases.millisecondClock.at(blockNowMs);
    const held = this.#covering(charges, atMs);
    if (held !== undefined) return this.#spend(charges, held, hold, { blockNowMs, atMs });
    const asks = charges.map((charge) => this.#toAsk(charge, { blockNowMs, atMs }));
    const isWarm = this.#areWarm(asks);
    const outcome = this.decideStrictly(charges, options);
    if (!isWarm) return outcome;
    return andThen(outcome, (answer) => {
      if (answer.allowed) this.#leaseAll(asks, answer);
      return answer;
    });
  }

  /** Lets the inner store decide. Units that this process holds never make it refuse. */
  decideStrictly(
    charges: readonly Charge[],
    options: DecideOptions,
    retriesLeft: number = RETRIES_MAX,
  ): MaybePromise<Outcome> {
    const leases = this.#leases;
    if (retriesLeft === RETRIES_MAX) leases.tally.strictDecisions++;
    const asked = leases.toInner(charges);
    const sentAtMs = leases.clock.now();
    return andThen(this.#inner.decide(asked, options), (outcome) => {
      if (outcome.allowed) return outcome;
      const short = leases.leasesOf(asked.filter((_, i) => mayPass(outcome, i)));
      const pending = short.find((keyLeases) => keyLeases.pending !== undefined)?.pending;
      if (pending !== undefined && retriesLeft > 0) {
        return leases.within(pending).then(() => {
          const passedMs = leases.clock.now() - sentAtMs;
          return this.decideStrictly(laterBy(charges, passedMs), options, retriesLeft - 1);
        });
      }
      if (!this.#mayMakeUp(asked, outcome)) return this.#withHeld(asked, outcome);
      return leases.without(short, () => this.#inner.decide(asked, options));
    });
  }

  /** Whether all that is refused would pass if what is held were home. */
  #mayMakeUp(asked: readonly Charge[], outcome: Outcome): boolean {
    return asked.every((charge, i) => {
      if (outcome.verdicts[i].allowed || charge.shadow === true) return true;
      return this.#isHeld(charge, outcome, i);
    });
  }

  /**
   * A refusal, with what this process holds besides: a charge that it covers passes, so that only the others are refused.
   * Otherwise a deny cache would go on refusing what the lease is there for.
   */
  #withHeld(asked: readonly Charge[], outcome: Outcome): Outcome {
    const verdicts = outcome.verdicts.map((verdict, i) => {
      if (verdict.allowed) return verdict;
      const own = withOwn(verdict, this.#unitsOf(asked[i]));
      return this.#isHeld(asked[i], outcome, i) ? { ...own, allowed: true, retryAfterMs: 0 } : own;
    });
    return { ...outcome, verdicts };
  }

  /** Whether a charge that was refused would pass if what is held were home. */
  #isHeld(charge: Charge, outcome: Outcome, i: number): boolean {
    const units = this.#unitsOf(charge);
    return units > 0 && mayPass(outcome, i) && outcome.verdicts[i].remaining + units >= charge.cost;
  }

  /** What is held of a key and unspent. */
  #unitsOf(charge: Charge): number {
    return this.#leases.leasesOf([charge]).reduce((sum, { unspent }) => sum + unspent, 0);
  }

  /** Presents receipts: those of leases here, the others to the inner store. */
  settle(settlings: readonly Settling[]): MaybePromise<void> {
    const others = settlings.filter(({ receipt }) => !(receipt.proof instanceof SpentUnits));
    const excess: Charge[] = [];
    for (const { receipt, kept, nowMs } of settlings) {
      if (!(receipt.proof instanceof SpentUnits) || !receipt.proof.isOpen) continue;
      const { counter, key, cost } = receipt;
      this.#leases.lose(receipt.proof.close(Math.max(0, cost - kept)));
      if (kept > cost) excess.push({ counter, key, cost: kept - cost, nowMs });
    }
    const settled = others.length > 0 ? this.#inner.settle(others) : undefined;
    if (excess.length === 0) return settled;
    const debit = () => andThen(this.#inner.debit(this.#leases.toInner(excess)), () => {});
    return andThen(settled, debit);
  }

  /** Units that were taken from a lease are spent. */
  keep(receipt: ChargeReceipt): void {
    const { proof } = receipt;
    if (!(proof instanceof SpentUnits)) this.#inner.keep?.(receipt);
    else if (proof.isOpen) proof.close(0);
  }

  #toAsk({ counter, key, cost, nowMs }: Charge, { blockNowMs, atMs }: AskTimes): LeaseAsk {
    return { row: this.#leases.rowOf(counter), key, cost, nowMs, blockNowMs, atMs };
  }

  /** The leases of all charges, if each key has enough. */
  #covering(charges: readonly Charge[], atMs: number): readonly Held[] | undefined {
    const held = new Array<Held>(charges.length);
    for (let i = 0; i < charges.length; i++) {
      const { counter, key, cost, nowMs } = charges[i];
      const row = this.#leases.rowOf(counter);
      const keyLeases = row.byKey.get(key);
      if (keyLeases === undefined) return undefined;
      this.#leases.advance(keyLeases, atMs, nowMs);
      if (!keyLeases.covers(cost)) return undefined;
      held[i] = { row, keyLeases };
    }
    return held;
  }

  #spend(
    charges: readonly Charge[],
    held: readonly Held[],
    hold: DecideOptions["hold"],
    times: AskTimes,
  ): Outcome {
    const receipts: ChargeReceipt[] = [];
    const verdicts = new Array<Verdict>(charges.length);
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i];
      const { row, keyLeases } = held[i];
      if (hold === false || charge.isFinal === true) keyLeases.spend(charge.cost);
      else receipts.push(toReceipt(charge, keyLeases));
      keyLeases.askedAtMs = times.atMs;
      verdicts[i] = toVerdict(row, keyLeases, keyLeases.left, times.atMs);
    }
    this.#leases.tally.leasedDecisions++;
    // After all are spent: what comes from the store may come immediately.
    for (let i = 0; i < charges.length; i++) {
      const { keyLeases } = held[i];
      if (!keyLeases.isLow(times.atMs)) continue;
      this.#leases.requests.renew(this.#toAsk(charges[i], times), keyLeases);
    }
    return { allowed: true, verdicts, receipts };
  }

  /** Counts an ask for each key. Returns whether all of them are worth a lease: one alone is not. */
  #areWarm(asks: readonly LeaseAsk[]): boolean {
    let areWarm = true;
    for (const { row, key, atMs } of asks) {
      const isHeld: boolean = row.byKey.has(key);
      if (!isHeld && !this.#leases.warm(row, key, atMs)) areWarm = false;
    }
    return areWarm;
  }

  #leaseAll(asks: readonly LeaseAsk[], { verdicts }: Outcome): void {
    for (const [i, ask] of asks.entries()) {
      const verdict = verdicts[i];
      const keyLeases = ask.row.byKey.get(ask.key) ?? this.#leases.open(ask, verdict);
      if (keyLeases === undefined || verdict.source === "fallback") continue;
      keyLeases.askedAtMs = ask.atMs;
      keyLeases.note(verdict, ask.atMs);
      // A lease may have come while the store was asked; it is used up first.
      const isDue = keyLeases.left === 0 || keyLeases.isLow(ask.atMs);
      if (isDue) this.#leases.requests.renew(ask, keyLeases);
    }
  }
}

/** Units that a decision spent out of the leases of a key: the proof of its receipt, which is presented once. */
class SpentUnits {
  readonly #taken: Taken;
  isOpen = true;

  constructor(taken: Taken) {
    this.#taken = taken;
  }

  /** Puts `units` back; the rest is spent. Returns the units that are lost: their lease is settled. */
  close(units: number): number {
    this.isOpen = false;
    return restoreBrief(this.#taken, units);
  }
}

/** Spends a charge so that it can be refunded. */
function toReceipt({ counter, key, cost }: Charge, keyLeases: KeyLeases): ChargeReceipt {
  return { counter, key, cost, proof: new SpentUnits(keyLeases.spendBriefly(cost)) };
}

function isShadow({ shadow }: Charge): boolean {
  return shadow === true;
}

/** Whether a charge was refused that would pass if there were more units. */
function mayPass({ verdicts }: Outcome, i: number): boolean {
  return !verdicts[i].allowed && verdicts[i].retryAfterMs < Number.POSITIVE_INFINITY;
}

function laterBy(charges: readonly Charge[], passedMs: number): readonly Charge[] {
  return charges.map((charge) => ({ ...charge, nowMs: Math.floor(charge.nowMs + passedMs) }));
}
