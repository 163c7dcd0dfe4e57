// The memory store: every counter of one process in bounded typed arrays, answered synchronously. It does no arithmetic
// itself. A single charge takes a short path; AllOrNothing decides lists of charges.

import type { Verdict } from "../../base/decision.js";
import { SluiceError } from "../../base/errors.js";
import type { Limit } from "../../limits/limits.js";
import { mergeEqual, spreadVerdicts } from "../charges.js";
import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  SyncStore,
} from "../store.js";
import { AllOrNothing, asItStands, refuseBlocked, toBlocked } from "./all-or-nothing.js";
import { Blocks } from "./blocked-keys.js";
import { type Cells, toVerdict } from "./cells/cells.js";
import { EscalationLevels } from "./escalation-levels.js";
import { KeyHash } from "./hash.js";
import { Locator, timeFor } from "./locator.js";
import { MemoryDeposits } from "./memory-deposits.js";
import { type MemoryStoreOptions, toBounds } from "./memory-options.js";
import { MemoryRecords } from "./memory-records.js";
import type { MemoryStoreStats } from "./memory-stats.js";
import { type OpenReceipt, OpenReceipts } from "./open-receipts.js";
import { Placements } from "./placements.js";
import { PreparedCharges, type PrintedKey, type UnkeyedCharge } from "./prepared-charges.js";
import { Requests, toPrint, withKeys, withoutKeys } from "./request-ids.js";

/** A store in the memory of this process. Made by {@link memoryStore}. */
export class MemoryStore implements SyncStore {
  readonly deposits: MemoryDeposits;
  readonly fence: Placements["fence"];
  readonly records: MemoryRecords = new MemoryRecords();
  readonly #hash: KeyHash;
  readonly #placements: Placements;
  readonly #locator: Locator;
  readonly #blocks: Blocks;
  /** Undefined until a key is reported. */
  #levels: EscalationLevels | undefined;
  readonly #requests: Requests;
  readonly #open: OpenReceipts;
  readonly #lists: AllOrNothing;
  #evictions = 0;
  #usageEvicted = 0;
  #isClosed = false;

  constructor(options: MemoryStoreOptions = {}) {
    const bounds = toBounds(options);
    this.#hash = new KeyHash(bounds.seed);
    this.#blocks = new Blocks(bounds.blocksMax);
    this.#requests = new Requests(bounds);
    this.#open = new OpenReceipts(bounds.receiptsMax);
    const { low, high } = bounds.seed;
    this.#placements = new Placements(bounds, new KeyHash({ low: ~low, high: high ^ low }), {
      share: (slot, id, nowMs) => this.#placements.cellsById(id).share(slot, nowMs),
      forget: (slot, id, nowMs) => this.#forget(slot, id, nowMs),
      drop: (slot, id) => this.#drop(slot, id),
    });
    this.fence = this.#placements.fence;
    this.#locator = new Locator(this.#hash, this.#placements, this.#open);
    this.deposits = new MemoryDeposits((scope, key, nowMs) => this.#blockedMs(scope, key, nowMs));
    this.#lists = new AllOrNothing(this.#locator, this.#blocks, this.#open);
  }

  get stats(): MemoryStoreStats {
    const tables = [...this.#placements.tables.values()].map((table) => table.stats);
    const arenas = this.#placements.shelves.map((shelf) => shelf.arena.stats);
    const { stats: sketches } = this.#placements.sketches;
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
    const bytes = [...tables, ...arenas, ...sketches, this.#blocks.stats].map((each) => each.bytes);
    return {
      keys: sum(tables.map((table) => table.keys)),
      evictions: this.#evictions,
      usageEvicted: this.#usageEvicted,
      entries: sum(arenas.map((arena) => arena.entries)),
      arenaRefusals: sum(this.#placements.shelves.map((shelf) => shelf.refusals)),
      blocks: this.#blocks.stats.keys,
      blocksEvicted: this.#blocks.evicted,
      sketches,
      bytes: sum([...bytes, this.#levels?.bytes ?? 0]),
    };
  }

  prepare(limit: Limit, counter?: Counter): void {
    this.#mustBeOpen();
    this.#placements.prepare(limit, counter);
  }

  forget(counter: Counter): void {
    this.#mustBeOpen();
    this.#locator.forget(counter);
    this.#lists.forget(counter);
  }

  // The way of `locate` and `decide` for one charge, without allocating anything on it. What few charges
  // need is in functions of its own: the compiler makes one piece of so much code and no more.
  decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): Verdict {
    this.#mustBeOpen();
    const placement = this.#locator.placementOf(counter, nowMs);
    const { cells } = placement;
    const hash = this.#hash;
    hash.hash(key);
    const low = hash.low ^ placement.saltLow;
    const high = hash.high ^ placement.saltHigh;
    const slot = this.#locator.find(placement, low, high, key, nowMs);
    const atMs = timeFor(cells, key, nowMs);
    if (!this.#blocks.isEmpty) {
      const blockedMs = this.#blocks.leftMs(placement, low, high, blockNowMs);
      if (blockedMs > 0) return refuseBlocked(cells, slot, cost, atMs, blockedMs);
    }
    if (slot < 0) return decideNew(cells, low, high, cost, nowMs, atMs);
    return cells.decide(slot, cost, atMs);
  }

  /** A key with its fingerprint. @internal */
  print(key: string): PrintedKey {
    this.#hash.hash(key);
    return { key, low: this.#hash.low, high: this.#hash.high };
  }

  /**
   * Charges to be made to one key after the other; those without a key are made to the caller. Undefined if one of them
   * needs more than a slot. Valid until a counter is forgotten. @internal
   */
  prepareCharges(charges: readonly UnkeyedCharge[]): PreparedCharges | undefined {
    this.#mustBeOpen();
    const print = (key: string) => this.print(key);
    return PreparedCharges.of(charges, this.#placements, this.#blocks, print);
  }

  decide(charges: readonly Charge[], options: DecideOptions = {}): Outcome {
    this.#mustBeOpen();
    return options.requestId === undefined
      ? this.#decideAll(charges, options)
      : this.#decideOnce(charges, options, options.requestId);
  }

  #decideAll(charges: readonly Charge[], options: DecideOptions): Outcome {
    const merged = mergeEqual(charges);
    const outcome = this.#lists.decide(merged, options);
    if (merged === charges) return outcome;
    return { ...outcome, verdicts: spreadVerdicts(outcome.verdicts, charges, merged) };
  }

  /** Decides a request that may have been admitted before, and is then answered as it was. */
  #decideOnce(charges: readonly Charge[], options: DecideOptions, requestId: string): Outcome {
    const located = this.#locator.locateEach(mergeEqual(charges));
    const isHeld = options.hold === true || options.hold === "lease";
    const request = { requestId, prints: located.map(toPrint), isHeld, nowMs: located[0].nowMs };
    const before = this.#requests.recall(request);
    if (before !== undefined) return withKeys(before, charges);
    const outcome = this.#decideAll(charges, options);
    if (outcome.allowed) {
      const name = this.#requests.record(request, withoutKeys(outcome, charges));
      for (const { proof } of outcome.receipts) (proof as OpenReceipt).requestName = name;
    }
    return outcome;
  }

  peek(charges: readonly Charge[], { blockNowMs }: PeekOptions = {}): readonly Verdict[] {
    this.#mustBeOpen();
    return this.#locator
      .locateEach(charges)
      .map(({ charge, placement, low, high, slot, nowMs }) => {
        const { cells } = placement;
        const verdict = toVerdict(cells.weigh(slot, charge.cost, nowMs, 1), cells.limit.capacity);
        const blockedMs = this.#blocks.leftMs(placement, low, high, blockNowMs ?? charge.nowMs);
        return toBlocked(asItStands(verdict, cells, slot, nowMs), blockedMs);
      });
  }

  debit(charges: readonly Charge[]): readonly CounterStatus[] {
    this.#mustBeOpen();
    return charges.map((charge) => {
      if (charge.cost > 0) this.#charge(charge);
      const { placement, slot, nowMs } = this.#locator.locate(charge);
      const { cells } = placement;
      const verdict = toVerdict(cells.weigh(slot, 0, nowMs, 0), cells.limit.capacity);
      return { ...verdict, used: slot < 0 ? 0 : cells.share(slot, nowMs) * cells.limit.capacity };
    });
  }

  settle(settlings: readonly Settling[]): void {
    this.#mustBeOpen();
    this.#placements.fence.mustSettle(settlings);
    for (const { receipt, kept, nowMs } of settlings) {
      const open = receipt.proof as OpenReceipt;
      if (open.state === "settled") continue;
      const isLost = open.state === "lost";
      const { counter, key, cost } = receipt;
      if (kept > cost) this.#charge({ counter, key, cost: kept - cost, nowMs });
      else if (kept < cost && !isLost)
        this.#refundUnused({ counter, key, cost, nowMs }, open, kept);
      this.#open.settle(open);
      // A request that was cancelled has not happened: sent again, it is decided again.
      if (kept === 0) this.#requests.forget(open.requestName);
    }
  }

  /** Charges without asking, under the numbers of today where they have changed since. */
  #charge(charge: Charge): void {
    const held = this.#locator.locateAsItIs(charge);
    if (held !== undefined) {
      held.cells.force(held.slot, charge.cost, held.nowMs, false);
    } else {
      const at = this.#locator.locate(charge);
      at.placement.cells.force(this.#locator.claim(at), charge.cost, at.nowMs, true);
    }
  }

  #refundUnused(charge: Charge, open: OpenReceipt, kept: number): void {
    const isPermit = charge.counter.limit.algorithm === "concurrency";
    const at = isPermit ? this.#locator.locatePermit(charge) : this.#locator.locate(charge);
    // Locating it may have shown that the receipt refers to other numbers.
    if (at === undefined || at.slot < 0 || open.state !== "open") return;
    const { cells } = at.placement;
    const isRefunded = cells.refund(at.slot, { receipt: open.receipt, kept }, at.nowMs);
    if (isRefunded) this.#open.settleRefunded(open, at);
  }

  refund(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const at = this.#locator.locate(charge);
      if (at.slot < 0) continue;
      at.placement.cells.grant(at.slot, charge.cost, at.nowMs);
      this.#open.lowerAll(at);
    }
  }

  reset(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const at = this.#locator.locate(charge);
      const { cells } = at.placement;
      if (at.slot < 0) continue;
      cells.reset(at.slot, at.nowMs);
      this.#open.lowerAll(at);
    }
  }

  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): void {
    this.#mustBeOpen();
    const { low, high } = this.#placements.salt("block", scope);
    this.#hash.hash(key);
    this.#blocks.set(this.#hash.low ^ low, this.#hash.high ^ high, until);
  }

  unblock(scope: string, key: string): void {
    this.#mustBeOpen();
    const { low, high } = this.#placements.salt("block", scope);
    this.#hash.hash(key);
    this.#blocks.delete(this.#hash.low ^ low, this.#hash.high ^ high);
    this.#levels?.forget(this.#hash.low ^ low, this.#hash.high ^ high);
  }

  escalate(reports: readonly RefusalReport[]): readonly Escalated[] {
    this.#mustBeOpen();
    this.#levels ??= new EscalationLevels(this.#blocks.blocksMax);
    const levels = this.#levels;
    return reports.map((report) => {
      const { low, high } = this.#placements.salt("block", report.scope);
      this.#hash.hash(report.key);
      const step = levels.count(this.#hash.low ^ low, this.#hash.high ^ high, report);
      const { blockMs, refusalsLeft, state } = step;
      const { key, blockScopes, nowMs } = report;
      const until = { untilMs: nowMs + blockMs, nowMs };
      if (blockMs > 0) for (const scope of blockScopes) this.blockAtLeast(scope, key, until);
      return { level: state.level, blockMs, refusalsLeft };
    });
  }

  /** Blocks a key, unless a block is in force that lasts longer. @internal */
  blockAtLeast(scope: string, key: string, until: { untilMs: number; nowMs: number }): void {
    const leftMs = this.#blockedMs(scope, key, until.nowMs);
    if (leftMs <= until.untilMs - until.nowMs) this.block(scope, key, until);
  }

  #blockedMs(scope: string, key: string, nowMs: number): number {
    this.#mustBeOpen();
    if (this.#blocks.isEmpty) return 0;
    const { low, high } = this.#placements.salt("block", scope);
    this.#hash.hash(key);
    return this.#blocks.leftMsOf(this.#hash.low ^ low, this.#hash.high ^ high, nowMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  #forget(slot: number, id: number, nowMs: number): void {
    const cells = this.#placements.cellsById(id);
    const share = cells.share(slot, nowMs);
    if (share > 0) {
      this.#evictions++;
      this.#usageEvicted += share;
    }
    this.#drop(slot, id);
  }

  #drop(slot: number, id: number): void {
    const cells = this.#placements.cellsById(id);
    cells.clear(slot);
    this.#open.loseKey(cells.table.tagOf(slot));
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this memory store");
  }
}

/** Decides a charge on a key without a slot, which gets one if there is something to keep. */
function decideNew(
  cells: Cells,
  low: number,
  high: number,
  cost: number,
  nowMs: number,
  atMs: number,
): Verdict {
  const step = cells.weigh(-1, cost, atMs, 1);
  if (step.allowed && cost > 0) {
    cells.keep(cells.table.claim(low, high, cells.id, nowMs), step, cost, true, atMs, false);
  }
  return toVerdict(step, cells.limit.capacity);
}

/** A store in the memory of this process, bounded by `keysMax`; see {@link MemoryStoreOptions}. */
export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options);
}
