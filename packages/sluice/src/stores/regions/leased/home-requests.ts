// What a region asks of the home region: blocks, one at a time for each key of a process, and single decisions. What is
// known of a key between two asks is here too: what remains for all, and which block is on its way.

import { BoundedMap } from "../../../base/bounded-map.js";
import type { Clock } from "../../../base/clock.js";
import type { Verdict } from "../../../base/decision.js";
import type { DepositAnswer, DepositPlace, DepositStore } from "../../deposit-store.js";
import { lifeOf } from "../../leased/leases/leasable.js";
import type { Charge, ChargeReceipt, Outcome, Store } from "../../store.js";
import { blockUnits } from "./block-size.js";
import { type Block, HeldBlocks } from "./held-blocks.js";
import type { HomeTerms } from "./home-terms.js";
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

/** A block that was granted: its verdict, and its id in the region's store. */
export interface Grant {
  readonly verdict: Verdict;
  readonly id: string;
}

/** What is known of a key. */
interface KeyNotes {
  remaining: number | undefined;
  /** Resolves when the block on its way is deposited, or is not coming. */
  pending: Promise<unknown> | undefined;
}

/** Keys of which something is known. Of others the home region is asked once more. */
const KEYS_MAX = 20_000;
/** The most blocks that one process holds: beyond it, the home region decides. */
const BLOCKS_MAX = 20_000;

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
  readonly blocks: HeldBlocks;
  readonly #setup: HomeRequestsSetup;
  readonly #notes = new BoundedMap<string, KeyNotes>(KEYS_MAX);
  /** Distinguishes the blocks of this process from those of others. */
  readonly #processId = crypto.randomUUID().slice(0, 13);
  #sequence = 0;
  #isClosed = false;

  constructor(setup: HomeRequestsSetup) {
    this.#setup = setup;
    this.blocks = new HeldBlocks(setup);
  }

  /** A block of this key on its way, if there is one. */
  pendingOf(place: DepositPlace): Promise<unknown> | undefined {
    return this.#notes.get(nameOf(place))?.pending;
  }

  /** Whether it is known what remains of a key. */
  knows(place: DepositPlace): boolean {
    return this.#notes.get(nameOf(place))?.remaining !== undefined;
  }

  /** The units of the next block, as far as is known now; 0: none. */
  plan({ charge, terms, place }: RegionAsk, { demand }: DepositAnswer): number {
    const remaining = this.#notes.get(nameOf(place))?.remaining;
    if (remaining === undefined || this.#isClosed || this.blocks.count >= BLOCKS_MAX) return 0;
    const { regions } = this.#setup;
    const { lifeMsMax: lifeMs } = terms;
    return blockUnits({ demand, cost: charge.cost, lifeMs, remaining, regions });
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
   * Leases a block of `units` besides the `cost` that is spent now, and deposits it. Resolves with the answer as soon as the
   * home region gave it; undefined if there is no block. Never rejects.
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
    const block = { ...sent, id, place: ask.place, receipt, units: cost + units, lifeMs };
    const deposited = this.#deposit(block, taken, verdict, units);
    return { grant: { verdict, id }, refusal: undefined, deposited };
  }

  /** Never rejects: a block that can't be written stays spent, unless it was written after all. */
  async #deposit(
    block: Block,
    taken: DepositAnswer,
    verdict: Verdict,
    units: number,
  ): Promise<void> {
    const { id, place, lifeMs } = block;
    this.blocks.add(block);
    try {
      await this.#setup.deposits.deposit({
        place,
        id,
        units,
        // From the region's time before the home region was asked: the network only makes it shorter.
        expiresAtMs: taken.nowMs + lifeMs,
        lifeMsMax: lifeMs,
        resetAtMs: taken.nowMs + verdict.resetMs,
        nowMs: this.blocks.nowMsOf(block),
      });
    } catch {
      // It is looked for again when it has expired.
    }
    // Closed while it was on its way: nothing else returns it.
    if (this.#isClosed) await this.blocks.close();
  }

  async #cancel(receipt: ChargeReceipt, nowMs: number): Promise<void> {
    try {
      await this.#setup.home.settle([{ receipt, kept: 0, nowMs }]);
    } catch {
      // It stays spent.
    }
  }

  /** Remembers what the home region said of a key. */
  note(place: DepositPlace, verdict: Verdict): void {
    if (verdict.source !== "fallback") this.#notesOf(place).remaining = verdict.remaining;
  }

  /** Forgets what is known of a key. */
  forget(place: DepositPlace): void {
    this.#notesOf(place).remaining = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.blocks.close();
  }

  #notesOf(place: DepositPlace): KeyNotes {
    const name = nameOf(place);
    const known = this.#notes.get(name);
    if (known !== undefined) return known;
    const notes: KeyNotes = { remaining: undefined, pending: undefined };
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

/** What became of the request for a block. */
export interface Fetched {
  readonly grant: Grant | undefined;
  /** The refusal of `onStoreFailure` while the home region can't be reached. */
  readonly refusal: Verdict | undefined;
  /** Resolves when the block is in the region's store. */
  readonly deposited: Promise<void> | undefined;
}

function nameOf({ scope, part, version, key }: DepositPlace): string {
  return `${scope}\n${part}\n${version}\n${key}`;
}
