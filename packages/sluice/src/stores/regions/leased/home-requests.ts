// What a region asks of the home region: leases, one at a time for each key of a process, and single decisions. What is
// known of a key between two asks is here too: what remains for all, and which lease is on its way.

import { BoundedMap } from "../../../base/bounded-map.js";
import type { Clock } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import type { DepositAnswer, DepositPlace, DepositStore } from "../../deposit-store.js";
import { lifeOf } from "../../leased/leases/leasable.js";
import type { Charge, ChargeReceipt, Outcome, Store } from "../../store.js";
import { HeldLeases, type RegionLease } from "./held-leases.js";
import type { HomeTerms } from "./home-terms.js";
import { leaseUnits } from "./lease-size.js";
import type { RegionLeasedTally } from "./region-leased-stats.js";

/** A charge on its way, and what the region's store said of it. */
export interface RegionAsk {
  /** Under the home region's counter. */
  readonly charge: Charge;
  readonly terms: HomeTerms;
  readonly place: DepositPlace;
  readonly blockNowMs: number;
  /** When the charge was asked for, by this process's clock. */
  readonly atMs: number;
}

/** A lease that was granted: its verdict, and its id in the region's store. */
export interface Grant {
  readonly verdict: Verdict;
  readonly id: string;
}

/** What is known of a key. */
interface KeyNotes {
  /** What the home region said last. */
  remaining: number | undefined;
  /** How fast all regions together take units, what was left when that was measured, and when. */
  drainPerMs: number;
  measured: number;
  measuredAtMs: number;
  /** Resolves when the lease on its way is deposited, or is not coming. */
  pending: Promise<unknown> | undefined;
}

/** The most keys that are remembered. For any other key the home region is asked once more. */
const KEYS_MAX = 20_000;
/** The most leases that one process holds: beyond it, the home region decides. */
const LEASES_MAX = 20_000;

/** A speed is measured over at least so long. */
const DRAIN_MS_MIN = 20;

/** What requests need. */
export interface HomeRequestsSetup {
  readonly deposits: DepositStore;
  readonly home: Store;
  readonly clock: Clock;
  readonly regionLeaseMs: number;
  readonly regions: number;
  readonly tally: RegionLeasedTally;
}

/** Asks the home region. */
export class HomeRequests {
  readonly leases: HeldLeases;
  readonly #setup: HomeRequestsSetup;
  readonly #notes = new BoundedMap<string, KeyNotes>(KEYS_MAX);
  /** Distinguishes the leases of this process from those of others. */
  readonly #processId = crypto.randomUUID().slice(0, 13);
  #sequence = 0;
  #isClosed = false;

  constructor(setup: HomeRequestsSetup) {
    this.#setup = setup;
    this.leases = new HeldLeases(setup);
  }

  /** A lease of this key on its way, if there is one. */
  pendingOf(place: DepositPlace): Promise<unknown> | undefined {
    return this.#notes.get(nameOf(place))?.pending;
  }

  /** Whether it is known what remains of a key. */
  knows(place: DepositPlace): boolean {
    return this.#notes.get(nameOf(place))?.remaining !== undefined;
  }

  /** The units of the next lease, as far as is known now; 0: none. */
  plan({ charge, terms, place }: RegionAsk, { demand }: DepositAnswer): number {
    const { remaining, drainPerMs = 0 } = this.#notes.get(nameOf(place)) ?? {};
    if (remaining === undefined || this.#isClosed || this.leases.count >= LEASES_MAX) return 0;
    const { regions } = this.#setup;
    const { lifeMsMax: lifeMs } = terms;
    return leaseUnits({ demand, cost: charge.cost, lifeMs, remaining, drainPerMs, regions });
  }

  /** Lets the home region decide a charge. */
  async decide(ask: RegionAsk, hold: "briefly" | "lease" | false): Promise<Outcome> {
    const charge = this.#later(ask);
    const blockNowMs = this.#laterMs(ask, ask.blockNowMs);
    const outcome = await this.#setup.home.decide([charge], { hold, blockNowMs });
    this.note(ask.place, outcome.verdicts[0]);
    return outcome;
  }

  /**
   * Asks for a lease of `units` besides the `cost` that is spent now, and deposits it. Resolves with the answer as soon as the
   * home region gave it; undefined if there is no lease. Never rejects.
   */
  fetch(ask: RegionAsk, taken: DepositAnswer, units: number, cost: number): Promise<Fetched> {
    const notes = this.#notesOf(ask.place);
    const fetched = this.#fetch(ask, taken, units, cost);
    const deposited = fetched.then(
      ({ deposited: written }) => written,
      () => {},
    );
    notes.pending = deposited;
    void deposited.then(() => {
      if (notes.pending === deposited) notes.pending = undefined;
    });
    return fetched;
  }

  async #fetch(
    ask: RegionAsk,
    taken: DepositAnswer,
    units: number,
    cost: number,
  ): Promise<Fetched> {
    const { home, clock, tally } = this.#setup;
    const charge = { ...this.#later(ask), cost: cost + units };
    const sentAtMs = clock.now();
    let outcome: Outcome;
    try {
      const blockNowMs = this.#laterMs(ask, ask.blockNowMs);
      outcome = await home.decide([charge], { hold: "lease", blockNowMs });
    } catch {
      tally.leasesRefused++;
      return { grant: undefined, refusal: undefined, deposited: undefined };
    }
    const [verdict] = outcome.verdicts;
    const [receipt] = outcome.receipts as readonly (ChargeReceipt | undefined)[];
    const isFallback = verdict.source === "fallback";
    if (!outcome.allowed || receipt === undefined || isFallback) {
      tally.leasesRefused++;
      if (receipt !== undefined) await this.#cancel(receipt, charge.nowMs);
      if (!isFallback) this.note(ask.place, verdict);
      const refusal = isFallback && !outcome.allowed ? verdict : undefined;
      return { grant: undefined, refusal, deposited: undefined };
    }
    this.note(ask.place, verdict);
    const id = `${this.#processId}-${(this.#sequence++).toString(36)}`;
    const lifeMs = Math.max(0, lifeOf(ask.terms, verdict));
    const sent = { sentAtMs, sentNowMs: charge.nowMs };
    const lease = { ...sent, id, place: ask.place, receipt, units: cost + units, lifeMs };
    const deposited = this.#deposit(lease, taken, verdict, units);
    return { grant: { verdict, id }, refusal: undefined, deposited };
  }

  /** Never rejects: a lease that can't be written stays spent, unless it was written after all. */
  async #deposit(
    lease: RegionLease,
    taken: DepositAnswer,
    verdict: Verdict,
    units: number,
  ): Promise<void> {
    const { id, place, lifeMs } = lease;
    this.leases.add(lease);
    try {
      const isAdded = await this.#setup.deposits.deposit({
        place,
        id,
        units,
        // From the region's time before the home region was asked: the network only makes it shorter.
        expiresAtMs: taken.nowMs + lifeMs,
        lifeMsMax: lifeMs,
        resetAtMs: taken.nowMs + verdict.resetMs,
        nowMs: this.leases.nowMsOf(lease),
      });
      // It took too long: nothing of it can be spent.
      if (isAdded === false) await this.leases.giveBack(lease, units);
    } catch {
      // It is looked for again when it has expired.
    }
    // Closed while it was on its way: nothing else returns it.
    if (this.#isClosed) await this.leases.close();
  }

  async #cancel(receipt: ChargeReceipt, nowMs: number): Promise<void> {
    try {
      await this.#setup.home.settle([{ receipt, kept: 0, nowMs }]);
    } catch {
      // It stays spent.
    }
  }

  /** Remembers what the home region said of a key. */
  note(place: DepositPlace, { remaining, source }: Verdict): void {
    if (source === "fallback") return;
    const notes = this.#notesOf(place);
    notes.remaining = remaining;
    const atMs = this.#setup.clock.now();
    const passedMs = atMs - notes.measuredAtMs;
    if (passedMs < DRAIN_MS_MIN) return;
    const taken = notes.measured - remaining;
    // After a window has begun there is more than before: then what was known of the one before it counts.
    notes.drainPerMs = taken > 0 ? taken / passedMs : notes.drainPerMs / 2;
    notes.measured = remaining;
    notes.measuredAtMs = atMs;
  }

  /** Forgets what is known of a key. */
  forget(place: DepositPlace): void {
    this.#notesOf(place).remaining = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.leases.close();
  }

  #notesOf(place: DepositPlace): KeyNotes {
    const name = nameOf(place);
    const known = this.#notes.get(name);
    if (known !== undefined) return known;
    const measured = { drainPerMs: 0, measured: 0, measuredAtMs: 0 };
    const notes: KeyNotes = { remaining: undefined, ...measured, pending: undefined };
    this.#notes.set(name, notes);
    return notes;
  }

  /** The charge at the time at which it is sent. */
  #later(ask: RegionAsk): Charge {
    return { ...ask.charge, nowMs: this.#laterMs(ask, ask.charge.nowMs) };
  }

  #laterMs({ atMs }: RegionAsk, ms: number): number {
    return Math.floor(ms + this.#setup.clock.now() - atMs);
  }
}

/** What became of the request for a lease. */
export interface Fetched {
  readonly grant: Grant | undefined;
  /** The refusal of `onStoreFailure` while the home region can't be reached. */
  readonly refusal: Verdict | undefined;
  /** Resolves when the lease is in the region's store. */
  readonly deposited: Promise<void> | undefined;
}

function nameOf({ scope, part, version, key }: DepositPlace): string {
  return `${scope}\n${part}\n${version}\n${key}`;
}
