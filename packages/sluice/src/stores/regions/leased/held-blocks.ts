// The blocks that this process leased from the home region. Each lies in the region's store, where all processes take from
// it; the process that leased it has the receipt, withdraws what is left when it has expired or lies idle, and returns
// that. A process that dies leaves its blocks spent.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import type { DepositPlace, DepositStore } from "../../deposit-store.js";
import type { ChargeReceipt, Settling, Store } from "../../store.js";
import type { RegionLeasedTally } from "./region-leased-stats.js";

/** A block of budget that this process leased. */
export interface Block {
  readonly id: string;
  readonly place: DepositPlace;
  readonly receipt: ChargeReceipt;
  readonly units: number;
  /** By the clock of this process. */
  readonly sentAtMs: number;
  readonly lifeMs: number;
  /** The limit's time at `sentAtMs`. */
  readonly sentNowMs: number;
}

/** How often a block is looked at in its life. */
const SWEEPS_PER_LIFE = 8;
/** The most blocks that are withdrawn at a time. */
const WITHDRAWN_MAX = 64;
/** How long `close` waits for blocks to be returned. */
const CLOSE_MS_MAX = 2_000;

/** What blocks are returned to, and where they lie. */
export interface BlocksSetup {
  readonly deposits: DepositStore;
  readonly home: Store;
  readonly clock: Clock;
  readonly regionLeaseMs: number;
  readonly tally: RegionLeasedTally;
}

/** All blocks of this process. */
export class HeldBlocks {
  readonly #setup: BlocksSetup;
  readonly #blocks = new Map<string, Block>();
  /** Blocks that were looked at in the middle of their lives. */
  readonly #tried = new Set<string>();
  /** Blocks that are being returned. */
  readonly #underway = new Set<string>();
  #stopSweep: CancelTimer | undefined;
  #isClosed = false;

  constructor(setup: BlocksSetup) {
    this.#setup = setup;
  }

  get count(): number {
    return this.#blocks.size;
  }

  /** Holds a block until it is returned. */
  add(block: Block): void {
    this.#blocks.set(block.id, block);
    const { tally } = this.#setup;
    tally.leases++;
    tally.unitsLeased += block.units;
    tally.unitsHeld += block.units;
    if (this.#stopSweep === undefined && !this.#isClosed) this.#startSweep();
  }

  /** Returns everything; waits for that, but not for long. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopSweep?.();
    const returned = Promise.all([...this.#blocks.values()].map((block) => this.#return(block, 0)));
    await new Promise<void>((resolve) => {
      const stop = startTimer(this.#setup.clock, CLOSE_MS_MAX, resolve);
      void returned.then(() => {
        stop();
        resolve();
      });
    });
  }

  #startSweep(): void {
    const { clock, regionLeaseMs } = this.#setup;
    const everyMs = Math.ceil(regionLeaseMs / SWEEPS_PER_LIFE);
    this.#stopSweep = startTimer(clock, everyMs, () => this.#sweep());
  }

  /** Returns blocks that have expired, and once in the middle of their lives those that lie idle. */
  #sweep(): void {
    this.#stopSweep = undefined;
    const atMs = this.#setup.clock.now();
    let count = 0;
    for (const block of this.#blocks.values()) {
      const ageMs = atMs - block.sentAtMs;
      const hasExpired = ageMs >= block.lifeMs;
      const isHalf = ageMs >= block.lifeMs / 2 && !this.#tried.has(block.id);
      if ((!hasExpired && !isHalf) || this.#underway.has(block.id)) continue;
      if (++count > WITHDRAWN_MAX) break;
      this.#tried.add(block.id);
      void this.#return(block, hasExpired ? 0 : Math.ceil(block.lifeMs / 2));
    }
    if (this.#blocks.size > 0 && !this.#isClosed) this.#startSweep();
  }

  async #return(block: Block, idleMsMin: number): Promise<void> {
    this.#underway.add(block.id);
    await this.#withdraw(block, idleMsMin);
    this.#underway.delete(block.id);
  }

  /** Withdraws a block and returns what is left of it. Never fails: what can't be withdrawn stays spent. */
  async #withdraw(block: Block, idleMsMin: number): Promise<void> {
    const { deposits, home, tally } = this.#setup;
    const { id, place, receipt, units } = block;
    let left: number | undefined;
    try {
      left = await deposits.withdraw({ place, id, idleMsMin, nowMs: this.nowMsOf(block) });
    } catch {
      // The region's store is away: unspent units return by refill, or with the next window.
      left = idleMsMin === 0 ? 0 : undefined;
    }
    if (left === undefined) return;
    this.#end(block);
    const settling: Settling = { receipt, kept: units - left, nowMs: this.nowMsOf(block) };
    try {
      await home.settle([settling]);
      tally.unitsReturned += left;
    } catch {
      // They stay spent as well.
    }
  }

  /** The limit's time now, by that of the block's request and this process's clock. */
  nowMsOf({ sentAtMs, sentNowMs }: Pick<Block, "sentAtMs" | "sentNowMs">): number {
    return Math.floor(sentNowMs + this.#setup.clock.now() - sentAtMs);
  }

  #end(block: Block): void {
    if (!this.#blocks.delete(block.id)) return;
    this.#tried.delete(block.id);
    this.#setup.tally.unitsHeld -= block.units;
  }
}
