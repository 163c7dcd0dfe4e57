// The memory store: every counter of one process in bounded typed arrays, answered at once. It
// joins the table, the cells that know what a slot means, blocks and receipts; it decides nothing
// itself. A single thread makes "all or nothing" simple: weigh every charge, then take them all.

import type { Verdict } from "../../decision.js";
import { SluiceError } from "../../errors.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  Outcome,
  Settling,
  SyncStore,
} from "../store.js";
import { Blocks } from "./blocks.js";
import { type AnyStep, toVerdict } from "./cells.js";
import { Grants } from "./grants.js";
import { KeyHash } from "./hash.js";
import { Ledgers } from "./ledgers.js";
import { type Located, Locator, timeFor } from "./locator.js";
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

/** A store in the memory of this process. Made by {@link memoryStore}. */
export class MemoryStore implements SyncStore {
  readonly #hash: KeyHash;
  readonly #ledgers: Ledgers;
  readonly #locator: Locator;
  readonly #blocks: Blocks;
  readonly #requests: Requests;
  readonly #grants = new Grants();
  #evictions = 0;
  #debtGivenUp = 0;
  #isClosed = false;

  constructor(options: MemoryStoreOptions = {}) {
    const bounds = toBounds(options);
    this.#hash = new KeyHash(bounds.seed);
    this.#blocks = new Blocks(bounds.blocksMax);
    this.#requests = new Requests(bounds);
    this.#ledgers = new Ledgers(bounds, this.#hash, {
      share: (slot, id, nowMs) => this.#ledgers.cellsById(id).share(slot, nowMs),
      forget: (slot, id, nowMs) => this.#forget(slot, id, nowMs),
    });
    this.#locator = new Locator(this.#hash, this.#ledgers);
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
    this.#mustBeOpen();
    const ledger = this.#locator.ledgerOf(counter);
    const { cells } = ledger;
    const atMs = timeFor(ledger, key, nowMs);
    this.#hash.hash(key);
    const low = this.#hash.low ^ ledger.saltLow;
    const high = this.#hash.high ^ ledger.saltHigh;
    const slot = this.#locator.find(ledger, low, high, atMs);
    if (slot >= 0) return cells.decide(slot, cost, atMs);
    const step = cells.weigh(slot, cost, atMs, 1);
    if (step.allowed && cost > 0) {
      cells.keep(cells.table.claim(low, high, cells.id, atMs), step, cost, true);
    }
    return toVerdict(step, cells.limit.limit);
  }

  decide(charges: readonly Charge[], options?: DecideOptions): Outcome {
    this.#mustBeOpen();
    const located = this.#locator.locateAll(mergeEqual(charges));
    const requestId = options?.requestId;
    if (requestId === undefined) return this.#decideLocated(charges, located);
    const request = { requestId, prints: located.map(toPrint), nowMs: located[0].nowMs };
    const before = this.#requests.recall(request);
    if (before !== undefined) return withKeys(before, charges);
    const outcome = this.#decideLocated(charges, located);
    if (outcome.receipts.length > 0) this.#requests.record(request, withoutKeys(outcome));
    return outcome;
  }

  peek(charges: readonly Charge[]): readonly Verdict[] {
    this.#mustBeOpen();
    const located = this.#locator.locateAll(charges);
    return located.map((at) => {
      const { cells } = at.ledger;
      const step = cells.weigh(at.slot, at.charge.cost, at.nowMs, 1);
      // What is left now is what a charge of nothing would leave.
      const { remaining, resetMs } = cells.weigh(at.slot, 0, at.nowMs, 0);
      const verdict = toVerdict({ ...step, remaining, resetMs }, cells.limit.limit);
      return toBlocked(verdict, this.#blockedMs(at, charges));
    });
  }

  settle(settlings: readonly Settling[]): void {
    this.#mustBeOpen();
    for (const { receipt, kept, nowMs } of settlings) {
      const { counter, key, cost } = receipt;
      const proof = receipt.proof as Proof;
      if (proof.isPresented) continue;
      proof.isPresented = true;
      const at = this.#locator.locate({ counter, key, cost, nowMs });
      const { cells } = at.ledger;
      if (kept > cost) {
        const slot = at.slot >= 0 ? at.slot : this.#locator.claim(at);
        cells.force(slot, kept - cost, at.nowMs, at.slot < 0);
      } else if (at.slot >= 0) {
        const usedMax = this.#grants.usedMaxSince(proof.grants, at.low, at.high);
        cells.giveBack(at.slot, { receipt, kept, usedMax }, at.nowMs);
      }
    }
  }

  refund(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const { ledger, slot, nowMs, low, high } = this.#locator.locate(charge);
      if (slot < 0) continue;
      ledger.cells.grant(slot, charge.cost, nowMs);
      this.#grants.record({ low, high, usedAfter: ledger.cells.used(slot, nowMs) });
    }
  }

  reset(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const { ledger, slot, low, high } = this.#locator.locate(charge);
      this.#grants.record({ low, high, usedAfter: 0 });
      if (slot < 0) continue;
      ledger.cells.clear(slot);
      ledger.cells.table.free(slot);
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
  }

  #decideLocated(charges: readonly Charge[], located: readonly Located[]): Outcome {
    const steps = located.map(({ charge, ledger, slot, nowMs }) => {
      const { algorithm } = ledger.cells.limit;
      const alike = located.filter((other) => other.ledger.cells.limit.algorithm === algorithm);
      return ledger.cells.weigh(slot, charge.cost, nowMs, alike.length);
    });
    const verdicts = located.map((at, i) => {
      const verdict = toVerdict(steps[i], at.ledger.cells.limit.limit);
      return toBlocked(verdict, this.#blockedMs(at, charges));
    });
    const isAdmitted = located.every((at, i) => verdicts[i].allowed || at.charge.shadow === true);
    const delayMs = Math.max(...steps.map((step) => step.delayMs));
    const receipts = isAdmitted
      ? located.flatMap((at, i) => (verdicts[i].allowed ? [this.#take(at, steps[i], delayMs)] : []))
      : [];
    const verdictOf = (charge: Charge) =>
      verdicts[located.findIndex((at) => isSameCounter(at.charge, charge))];
    return { verdicts: charges.map(verdictOf), receipts };
  }

  #take(at: Located, step: AnyStep, delayMs: number): ChargeReceipt {
    const { cells } = at.ledger;
    const { counter, key, cost } = at.charge;
    // A permit's time starts when its request goes on.
    const isPermit = cells.limit.algorithm === "concurrency";
    const taken = isPermit ? { ...step, mark: step.mark + Math.ceil(delayMs) } : step;
    if (cost > 0) {
      // Claiming a slot for an earlier charge of this request may have moved this one's.
      const slot = cells.table.find(at.low, at.high);
      cells.keep(slot >= 0 ? slot : this.#locator.claim(at), taken, cost, slot < 0);
    }
    const proof: Proof = { grants: this.#grants.sequence, isPresented: false };
    return { counter, key, cost, atMs: at.nowMs, mark: taken.mark, proof };
  }

  /** How long the key is still blocked, by the clock of its scope's first charge. */
  #blockedMs(at: Located, charges: readonly Charge[]): number {
    const { ledger, charge } = at;
    const { scope } = charge.counter;
    const nowMs = charges.find((other) => other.counter.scope === scope)?.nowMs ?? charge.nowMs;
    const low = at.low ^ ledger.saltLow ^ ledger.blockSaltLow;
    const high = at.high ^ ledger.saltHigh ^ ledger.blockSaltHigh;
    return Math.max(0, this.#blocks.untilMs(low, high, nowMs) - nowMs);
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

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this memory store");
  }
}

/** A store in the memory of this process, bounded by `keysMax`; see {@link MemoryStoreOptions}. */
export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options);
}

/** What makes a receipt good for one settlement; copies of the receipt share it. */
interface Proof {
  /** How many grants of operators there had been. */
  readonly grants: number;
  isPresented: boolean;
}

function toBlocked(verdict: Verdict, blockedMs: number): Verdict {
  if (blockedMs === 0) return verdict;
  const retryAfterMs = Math.max(blockedMs, verdict.retryAfterMs);
  const resetMs = Math.max(blockedMs, verdict.resetMs);
  return { ...verdict, allowed: false, remaining: 0, retryAfterMs, resetMs, delayMs: 0 };
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
  const { counter, cost } = at.charge;
  return { scope: counter.scope, low: at.low, high: at.high, cost };
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
