// What a leased store asks of the inner one besides strict decisions: the next lease of a key, in the
// background and one at a time, and the units that a decision still needs. Failures leave a key strict.

import type { Verdict } from "../../../base/decision.js";
import { isThenable, type MaybePromise } from "../../../base/maybe-promise.js";
import type { ChargeReceipt, Outcome, Store } from "../../store.js";
import type { LeasedSettings } from "../lease-options.js";
import type { KeyLeases } from "./key-leases.js";
import { endsForGood, lifeOf } from "./leasable.js";
import { isAlive, type Lease, newLease, restoreLent, spendLent, type Taken } from "./lease.js";
import type { Returns } from "./lease-returns.js";
import type { LeaseRow } from "./lease-table.js";
import type { LeasedTally } from "./leased-stats.js";

/** A decision that is asked for. */
export interface LeaseAsk {
  readonly row: LeaseRow;
  readonly key: string;
  readonly cost: number;
  /** The time by the limit's clock and by that of leases. */
  readonly nowMs: number;
  readonly blockNowMs: number;
  /** The same instant by the clock of leases. */
  readonly atMs: number;
}

/** A lease that is asked for. */
interface LeaseRequest {
  readonly ask: LeaseAsk;
  readonly keyLeases: KeyLeases;
  readonly units: number;
  readonly epoch: number;
}

/** The same ask at a later time by the clock of leases. */
export function laterBy(ask: LeaseAsk, atMs: number): LeaseAsk {
  const passedMs = atMs - ask.atMs;
  const nowMs = Math.floor(ask.nowMs + passedMs);
  return { ...ask, nowMs, blockNowMs: Math.floor(ask.blockNowMs + passedMs), atMs };
}

/** Asks for leases and for missing units. */
export class LeaseRequests {
  readonly #store: Store;
  readonly #settings: LeasedSettings;
  readonly #returns: Returns;
  readonly #tally: LeasedTally;

  constructor(store: Store, settings: LeasedSettings, returns: Returns, tally: LeasedTally) {
    this.#store = store;
    this.#settings = settings;
    this.#returns = returns;
    this.#tally = tally;
  }

  /** Asks for the next lease of a key, if it is worth while and none is on its way. */
  renew(ask: LeaseAsk, keyLeases: KeyLeases): void {
    // Armed again by the next lease, or by what the store says next.
    keyLeases.disarm();
    if (keyLeases.isAsking || keyLeases.next !== undefined || keyLeases.verbs > 0) return;
    if (ask.atMs < keyLeases.restsUntilMs || !keyLeases.isBusy(ask.atMs)) return;
    const units = keyLeases.plan(this.#settings.holders);
    if (units < Math.max(1, ask.cost)) return;
    // The life of a lease counts from here, before its request is sent.
    const sent = laterBy(ask, this.#settings.clock.now());
    this.#send({ ask: sent, keyLeases, units, epoch: keyLeases.epoch });
  }

  #send(request: LeaseRequest): void {
    const { keyLeases, units } = request;
    const { row, key, nowMs, blockNowMs } = request.ask;
    const charge = { counter: row.counter, key, cost: units, nowMs };
    keyLeases.askingAtMs = request.ask.atMs;
    try {
      const outcome = this.#store.decide([charge], { hold: "lease", blockNowMs });
      if (!isThenable(outcome)) {
        this.#receive(request, outcome);
        return;
      }
      const arrived = this.#follow(keyLeases);
      Promise.resolve(outcome)
        .then(
          (answer) => this.#receive(request, answer),
          () => this.#rest(request),
        )
        .then(arrived);
    } catch {
      this.#rest(request);
    }
  }

  #receive(request: LeaseRequest, outcome: Outcome): void {
    const { ask, keyLeases, units, epoch } = request;
    const [verdict] = outcome.verdicts;
    const [receipt] = outcome.receipts as readonly (ChargeReceipt | undefined)[];
    const nowMs = this.#nowMs(ask);
    if (outcome.allowed && (receipt === undefined || verdict.source === "fallback")) {
      // No store debited this, or it could not be refunded: it is not a lease.
      this.#returns.cancel(outcome.receipts, nowMs);
      this.#rest(request);
      return;
    }
    this.#arrive(request);
    keyLeases.note(verdict, ask.atMs);
    if (!outcome.allowed || receipt === undefined) {
      keyLeases.shrink();
      return;
    }
    const lease = toLease(ask, units, receipt, verdict);
    this.#tally.leases++;
    this.#tally.unitsLeased += units;
    const atMs = this.#settings.clock.now();
    const isOfUse = epoch === keyLeases.epoch && isAlive(lease, atMs, nowMs);
    if (!isOfUse || !keyLeases.add(lease)) this.#returns.returnLeases([lease], atMs);
  }

  /** The next lease can be asked for, unless it has been already. */
  #arrive({ keyLeases, epoch }: LeaseRequest): void {
    if (epoch === keyLeases.epoch) keyLeases.askingAtMs = Number.POSITIVE_INFINITY;
  }

  /** No lease: the key stays strict for as long as one would have lived. */
  #rest(request: LeaseRequest): void {
    const { ask, keyLeases } = request;
    this.#arrive(request);
    keyLeases.restsUntilMs = ask.atMs + this.#settings.leaseMs;
  }

  /**
   * Decides a cost of which `taken` is held and the rest is missing: all or nothing. If the store
   * refuses the rest, what was taken stays.
   */
  topUp(ask: LeaseAsk, keyLeases: KeyLeases, taken: Taken): MaybePromise<Verdict> {
    const { row, key, nowMs, blockNowMs } = ask;
    const charge = { counter: row.counter, key, cost: ask.cost - taken.units, nowMs };
    const putBack = (error: unknown): never => {
      this.#returns.lose(restoreLent(taken));
      throw error;
    };
    let outcome: MaybePromise<Outcome>;
    try {
      outcome = this.#store.decide([charge], { hold: "briefly", blockNowMs });
    } catch (error) {
      return putBack(error);
    }
    if (!isThenable(outcome)) return this.#join(ask, taken, outcome);
    const arrived = this.#follow(keyLeases);
    return Promise.resolve(outcome)
      .then((answer) => this.#join(ask, taken, answer), putBack)
      .finally(arrived);
  }

  #join(ask: LeaseAsk, taken: Taken, outcome: Outcome): MaybePromise<Verdict> {
    const [verdict] = outcome.verdicts;
    if (!outcome.allowed) {
      this.#returns.lose(restoreLent(taken));
      return verdict;
    }
    const now = laterBy(ask, this.#settings.clock.now());
    if (taken.parts.every(({ lease }) => isAlive(lease, now.atMs, now.nowMs))) {
      spendLent(taken);
      return verdict;
    }
    // The held units have expired meanwhile: halves from different windows can't be combined.
    this.#returns.lose(restoreLent(taken));
    this.#returns.cancel(outcome.receipts, now.nowMs);
    return this.#decideWhole(now);
  }

  #decideWhole({ row, key, cost, nowMs, blockNowMs }: LeaseAsk): MaybePromise<Verdict> {
    const outcome = this.#store.decide([{ counter: row.counter, key, cost, nowMs }], {
      blockNowMs,
    });
    return isThenable(outcome) ? outcome.then(({ verdicts }) => verdicts[0]) : outcome.verdicts[0];
  }

  /** Lets refusals wait for something that may bring units, until the returned function is called. */
  #follow(keyLeases: KeyLeases): () => void {
    let arrive = () => {};
    const pending = this.#returns.track(
      new Promise<void>((resolve) => {
        arrive = resolve;
      }),
    );
    keyLeases.pending = pending;
    return () => {
      if (keyLeases.pending === pending) keyLeases.pending = undefined;
      arrive();
    };
  }

  #nowMs(ask: LeaseAsk): number {
    return laterBy(ask, this.#settings.clock.now()).nowMs;
  }
}

function toLease(ask: LeaseAsk, units: number, receipt: ChargeReceipt, verdict: Verdict): Lease {
  const { row, atMs, nowMs } = ask;
  const lifeMs = lifeOf(row, verdict);
  return newLease({
    receipt,
    units,
    sentAtMs: atMs,
    expiresAtMs: atMs + lifeMs,
    endNowMs: nowMs + lifeMs,
    endsForGood: lifeMs < row.lifeMsMax && endsForGood(row.counter.limit),
  });
}
