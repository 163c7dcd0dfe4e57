// The memory store: every counter of one process in bounded typed arrays, answered at once. It
// joins the table, the cells that know what a slot means, blocks and receipts; it decides nothing
// itself. A single thread makes "all or nothing" simple: weigh every charge, then take them all.

import { keyOffsetMs } from "../../algorithms/fixed-window.js";
import { SluiceError } from "../../errors.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  Outcome,
  Settling,
  SyncStore,
  Verdict,
} from "../store.js";
import { Blocks } from "./blocks.js";
import { type AnyStep, toVerdict } from "./cells.js";
import { Grants } from "./grants.js";
import { KeyHash } from "./hash.js";
import { type Ledger, Ledgers } from "./ledgers.js";
import { type MemoryStoreOptions, toBounds } from "./options.js";
import { type RequestPrint, Requests } from "./requests.js";

/** What a memory store has to say of itself. */
export interface MemoryStoreStats {
  /** Slots in use, keys at rest that were not yet overwritten included. */
  readonly keys: number;
  /** Live keys that were given up because the table was full. */
  readonly evictions: number;
  /** The shares of their limits that evicted keys had in use, added up: 1 is one full limit. */
  readonly debtGivenUp: number;
  /** Entries of logs, and permits, in use. */
  readonly entries: number;
  /** Charges refused because an arena was full. */
  readonly arenaRefusals: number;
  /** Keys blocked, blocks that ended but were not yet looked at included. */
  readonly blocks: number;
  /** Memory set aside for all of this. */
  readonly bytes: number;
}

/** A charge found in its table: where, and when by its limit's time. */
interface Located {
  readonly charge: Charge;
  readonly ledger: Ledger;
  readonly low: number;
  readonly high: number;
  readonly slot: number;
  readonly nowMs: number;
  readonly blockedMs: number;
}

/** A store in the memory of this process. Made by {@link memoryStore}. */
export class MemoryStore implements SyncStore {
  readonly #hash: KeyHash;
  readonly #ledgers: Ledgers;
  readonly #blocks: Blocks;
  readonly #requests: Requests;
  readonly #grants = new Grants();
  #evictions = 0;
  #debtGivenUp = 0;
  #isClosed = false;
  // The counter asked for last: a limiter with one limit asks for the same one each time.
  #lastCounter: Counter | undefined;
  #lastLedger: Ledger | undefined;

  constructor(options: MemoryStoreOptions = {}) {
    const bounds = toBounds(options);
    this.#hash = new KeyHash(bounds.seed);
    this.#blocks = new Blocks(bounds.blocksMax);
    this.#requests = new Requests(bounds);
    this.#ledgers = new Ledgers(bounds, this.#hash, {
      share: (slot, id, nowMs) => this.#ledgers.cellsById(id).share(slot, nowMs),
      forget: (slot, id, nowMs) => this.#forget(slot, id, nowMs),
    });
  }

  get stats(): MemoryStoreStats {
    const tables = [...this.#ledgers.tables.values()].map((table) => table.stats);
    const arenas = this.#ledgers.shelves.map((shelf) => shelf.arena.stats);
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
    return {
      keys: sum(tables.map((table) => table.keys)),
      evictions: this.#evictions,
      debtGivenUp: this.#debtGivenUp,
      entries: sum(arenas.map((arena) => arena.entries)),
      arenaRefusals: sum(this.#ledgers.shelves.map((shelf) => shelf.refusals)),
      blocks: this.#blocks.stats.keys,
      bytes: sum([...tables, ...arenas, this.#blocks.stats].map(({ bytes }) => bytes)),
    };
  }

  decideOne(counter: Counter, key: string, cost: number, nowMs: number): Verdict {
    if (!this.#blocks.isEmpty) return this.decide([{ counter, key, cost, nowMs }]).verdicts[0];
    const ledger = this.#ledgerOf(counter);
    const { cells } = ledger;
    const atMs = timeFor(ledger, key, nowMs);
    this.#hash.hash(key);
    const low = this.#hash.low ^ ledger.saltLow;
    const high = this.#hash.high ^ ledger.saltHigh;
    let slot = cells.table.find(low, high);
    if (slot < 0 || cells.table.idOf(slot) !== cells.id) {
      slot = this.#carry(ledger, low, high, slot, atMs);
    }
    if (slot >= 0) return cells.decide(slot, cost, atMs);
    const step = cells.weigh(slot, cost, atMs, 1);
    if (step.allowed && cost > 0) {
      cells.keep(cells.table.claim(low, high, cells.id, atMs), step, cost, true);
    }
    return toVerdict(step, cells.limit.limit);
  }

  decide(charges: readonly Charge[], options?: DecideOptions): Outcome {
    const merged = mergeEqual(charges);
    const located = merged.map((charge) => this.#locate(charge));
    const requestId = options?.requestId;
    if (requestId === undefined) return this.#decideLocated(charges, located);
    const prints = located.map(toPrint);
    const nowMs = located[0].nowMs;
    const before = this.#requests.recall(requestId, prints, nowMs);
    if (before !== undefined) return withKeys(before, charges);
    const outcome = this.#decideLocated(charges, located);
    if (outcome.receipts.length > 0) {
      this.#requests.record(requestId, prints, withoutKeys(outcome), nowMs);
    }
    return outcome;
  }

  peek(charges: readonly Charge[]): readonly Verdict[] {
    return charges.map((charge) => {
      const at = this.#locate(charge);
      const { cells } = at.ledger;
      const step = cells.weigh(at.slot, charge.cost, at.nowMs, 1);
      // What is left now is what a charge of nothing would leave.
      const now = cells.weigh(at.slot, 0, at.nowMs, 0);
      const { remaining, resetMs } = now;
      return toBlockedVerdict({ ...step, remaining, resetMs }, cells.limit.limit, at.blockedMs);
    });
  }

  settle(settlings: readonly Settling[]): void {
    for (const { receipt, kept, nowMs } of settlings) {
      const { counter, key, cost } = receipt;
      const at = this.#locate({ counter, key, cost, nowMs });
      const { cells } = at.ledger;
      if (kept > cost) {
        const slot = at.slot >= 0 ? at.slot : this.#claim(at);
        cells.force(slot, kept - cost, at.nowMs, at.slot < 0);
      } else if (at.slot >= 0) {
        const usedMax = this.#grants.usedMaxSince(receipt.sequence, at.low, at.high);
        cells.giveBack(at.slot, { receipt, kept, usedMax }, at.nowMs);
      }
    }
  }

  refund(charges: readonly Charge[]): void {
    for (const charge of charges) {
      const at = this.#locate(charge);
      if (at.slot < 0) continue;
      const { cells } = at.ledger;
      cells.grant(at.slot, charge.cost, at.nowMs);
      const usedAfter = cells.used(at.slot, at.nowMs);
      this.#grants.record({ low: at.low, high: at.high, usedAfter });
    }
  }

  reset(charges: readonly Charge[]): void {
    for (const charge of charges) {
      const at = this.#locate(charge);
      this.#grants.record({ low: at.low, high: at.high, usedAfter: 0 });
      if (at.slot < 0) continue;
      at.ledger.cells.clear(at.slot);
      at.ledger.cells.table.free(at.slot);
    }
  }

  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): void {
    this.#mustBeOpen();
    const { low, high } = this.#ledgers.salt("block", scope);
    this.#hash.hash(key);
    this.#blocks.set(this.#hash.low ^ low, this.#hash.high ^ high, until);
  }

  unblock(scope: string, key: string): void {
    this.#mustBeOpen();
    const { low, high } = this.#ledgers.salt("block", scope);
    this.#hash.hash(key);
    this.#blocks.delete(this.#hash.low ^ low, this.#hash.high ^ high);
  }

  close(): void {
    this.#isClosed = true;
    this.#lastCounter = undefined;
  }

  #decideLocated(charges: readonly Charge[], located: readonly Located[]): Outcome {
    const steps = located.map(({ charge, ledger, slot, nowMs }) =>
      ledger.cells.weigh(slot, charge.cost, nowMs, located.length),
    );
    const passes = located.map((at, i) => steps[i].allowed && at.blockedMs === 0);
    const isAdmitted = located.every((at, i) => passes[i] || at.charge.shadow === true);
    const delayMs = Math.max(...steps.map((step) => step.delayMs));
    const receipts = isAdmitted
      ? located.flatMap((at, i) => (passes[i] ? [this.#take(at, steps[i], delayMs)] : []))
      : [];
    const verdicts = charges.map((charge) => {
      const i = located.findIndex((at) => isSameCounter(at.charge, charge));
      const step = steps[i];
      const { limit } = located[i].ledger.cells.limit;
      return toBlockedVerdict(step, limit, located[i].blockedMs);
    });
    return { verdicts, receipts };
  }

  #take(at: Located, step: AnyStep, delayMs: number): ChargeReceipt {
    const { cells } = at.ledger;
    const { counter, key, cost } = at.charge;
    // A permit's time starts when its request goes on.
    const isPermit = cells.limit.algorithm === "concurrency";
    const taken = isPermit ? { ...step, mark: step.mark + Math.ceil(delayMs) } : step;
    if (cost > 0) {
      // Claiming for an earlier charge of this request may have given this slot up.
      const found = cells.table.find(at.low, at.high);
      cells.keep(found >= 0 ? found : this.#claim(at), taken, cost, found < 0);
    }
    const { sequence } = this.#grants;
    return { counter, key, cost, atMs: at.nowMs, mark: taken.mark, sequence };
  }

  #locate(charge: Charge): Located {
    const ledger = this.#ledgerOf(charge.counter);
    const nowMs = timeFor(ledger, charge.key, charge.nowMs);
    this.#hash.hash(charge.key);
    const { low: hashLow, high: hashHigh } = this.#hash;
    const low = hashLow ^ ledger.saltLow;
    const high = hashHigh ^ ledger.saltHigh;
    const blockLow = hashLow ^ ledger.blockSaltLow;
    const untilMs = this.#blocks.untilMs(blockLow, hashHigh ^ ledger.blockSaltHigh, charge.nowMs);
    const found = ledger.cells.table.find(low, high);
    const slot = this.#carry(ledger, low, high, found, nowMs);
    return {
      charge,
      ledger,
      low,
      high,
      slot,
      nowMs,
      blockedMs: Math.max(0, untilMs - charge.nowMs),
    };
  }

  /** Brings state that was written under other numbers under those of the ledger. */
  #carry(ledger: Ledger, low: number, high: number, found: number, nowMs: number): number {
    const { cells, olderTables } = ledger;
    if (found >= 0) {
      const id = cells.table.idOf(found);
      if (id !== cells.id) {
        cells.adopt(found, this.#ledgers.cellsById(id), found, nowMs);
        cells.table.setId(found, cells.id);
      }
      return found;
    }
    for (const table of olderTables) {
      const from = table.find(low, high);
      if (from < 0) continue;
      const slot = cells.table.claim(low, high, cells.id, nowMs);
      cells.adopt(slot, this.#ledgers.cellsById(table.idOf(from)), from, nowMs);
      table.free(from);
      return slot;
    }
    return -1;
  }

  #claim(at: Located): number {
    const { cells } = at.ledger;
    return cells.table.claim(at.low, at.high, cells.id, at.nowMs);
  }

  #forget(slot: number, id: number, nowMs: number): void {
    const cells = this.#ledgers.cellsById(id);
    const share = cells.share(slot, nowMs);
    if (share > 0) {
      this.#evictions++;
      this.#debtGivenUp += share;
    }
    cells.clear(slot);
  }

  #ledgerOf(counter: Counter): Ledger {
    if (counter === this.#lastCounter && this.#lastLedger !== undefined) return this.#lastLedger;
    this.#mustBeOpen();
    this.#lastLedger = this.#ledgers.of(counter);
    this.#lastCounter = counter;
    return this.#lastLedger;
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this memory store");
  }
}

/** A store in the memory of this process, bounded by `keysMax`; see {@link MemoryStoreOptions}. */
export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options);
}

/** A window that is aligned by key lives in a time of its own. */
function timeFor(ledger: Ledger, key: string, nowMs: number): number {
  const { limit } = ledger.cells;
  if (limit.algorithm !== "fixedWindow" || limit.align === "epoch") return nowMs;
  return nowMs + keyOffsetMs(key, limit.windowMs);
}

function toBlockedVerdict(step: AnyStep, limit: number, blockedMs: number): Verdict {
  const verdict = toVerdict(step, limit);
  if (blockedMs === 0) return verdict;
  return {
    ...verdict,
    allowed: false,
    remaining: 0,
    retryAfterMs: Math.max(blockedMs, step.retryAfterMs),
    resetMs: Math.max(blockedMs, step.resetMs),
    delayMs: 0,
  };
}

/** Charges on the same counter and key are one charge of their costs together. */
function mergeEqual(charges: readonly Charge[]): readonly Charge[] {
  const merged: Charge[] = [];
  for (const charge of charges) {
    const i = merged.findIndex((other) => isSameCounter(other, charge));
    if (i < 0) merged.push(charge);
    else merged[i] = { ...merged[i], cost: merged[i].cost + charge.cost };
  }
  return merged;
}

function isSameCounter(a: Charge, b: Charge): boolean {
  return a.counter === b.counter && a.key === b.key && a.shadow === b.shadow;
}

function toPrint(at: Located): RequestPrint {
  return { low: at.low, high: at.high, cost: at.charge.cost };
}

function withoutKeys(outcome: Outcome): Outcome {
  return { ...outcome, receipts: outcome.receipts.map((receipt) => ({ ...receipt, key: "" })) };
}

function withKeys(outcome: Outcome, charges: readonly Charge[]): Outcome {
  const keyOf = (receipt: ChargeReceipt) =>
    charges.find((charge) => charge.counter === receipt.counter)?.key ?? "";
  const receipts = outcome.receipts.map((receipt) => ({ ...receipt, key: keyOf(receipt) }));
  return { ...outcome, receipts };
}
