// The memory store: every counter of one process in bounded typed arrays, answered at once. It
// joins the table, the cells that know what a slot means, blocks and receipts; it decides nothing
// itself. A single thread makes "all or nothing" simple: weigh every charge, then take them all.

import type { Verdict } from "../../decision.js";
import { SluiceError } from "../../errors.js";
import { mergeEqual, spreadVerdicts } from "../charges.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
  Standing,
  SyncStore,
} from "../store.js";
import { Blocks } from "./blocks.js";
import { type AnyStep, type Cells, toVerdict } from "./cells.js";
import { KeyHash } from "./hash.js";
import { type Located, Locator, timeFor } from "./locator.js";
import { type OpenReceipt, OpenReceipts } from "./open-receipts.js";
import { type MemoryStoreOptions, toBounds } from "./options.js";
import { Placements } from "./placements.js";
import { Requests, toPrint, withKeys, withoutKeys } from "./requests.js";

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
  /** Charges, taken or only peeked at, that were refused because an arena was full. */
  readonly arenaRefusals: number;
  /** Keys blocked, blocks that ended but were not yet looked at included. */
  readonly blocks: number;
  /** Blocks that had not ended and were given up because their table was full. */
  readonly blocksGivenUp: number;
  /** Memory set aside for all of this, apart from open receipts and request ids. */
  readonly bytes: number;
}

/** A store in the memory of this process. Made by {@link memoryStore}. */
export class MemoryStore implements SyncStore {
  readonly #hash: KeyHash;
  readonly #placements: Placements;
  readonly #locator: Locator;
  readonly #blocks: Blocks;
  readonly #requests: Requests;
  readonly #open: OpenReceipts;
  #evictions = 0;
  #debtGivenUp = 0;
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
    });
    this.#locator = new Locator(this.#hash, this.#placements, this.#open);
  }

  get stats(): MemoryStoreStats {
    const tables = [...this.#placements.tables.values()].map((table) => table.stats);
    const arenas = this.#placements.shelves.map((shelf) => shelf.arena.stats);
    const sum = (numbers: number[]) => numbers.reduce((total, n) => total + n, 0);
    return {
      keys: sum(tables.map((table) => table.keys)),
      evictions: this.#evictions,
      debtGivenUp: this.#debtGivenUp,
      entries: sum(arenas.map((arena) => arena.entries)),
      arenaRefusals: sum(this.#placements.shelves.map((shelf) => shelf.refusals)),
      blocks: this.#blocks.stats.keys,
      blocksGivenUp: this.#blocks.givenUp,
      bytes: sum([...tables, ...arenas, this.#blocks.stats].map(({ bytes }) => bytes)),
    };
  }

  // The way of `locate` and `decide` for one charge, without allocating anything on it.
  decideOne(
    counter: Counter,
    key: string,
    cost: number,
    nowMs: number,
    blockNowMs: number = nowMs,
  ): Verdict {
    this.#mustBeOpen();
    const placement = this.#locator.placementOf(counter);
    const { cells } = placement;
    const atMs = timeFor(cells, key, nowMs);
    this.#hash.hash(key);
    const low = this.#hash.low ^ placement.saltLow;
    const high = this.#hash.high ^ placement.saltHigh;
    if (!this.#blocks.isEmpty && this.#blockedMs({ placement, low, high }, blockNowMs) > 0) {
      return this.decide([{ counter, key, cost, nowMs }], { blockNowMs }).verdicts[0];
    }
    const slot = this.#locator.find(placement, low, high, key, nowMs);
    if (slot >= 0) return cells.decide(slot, cost, atMs);
    const step = cells.weigh(slot, cost, atMs, 1);
    if (step.allowed && cost > 0) {
      cells.keep(cells.table.claim(low, high, cells.id, nowMs), step, cost, true, atMs);
    }
    return toVerdict(step, cells.limit.limit);
  }

  decide(charges: readonly Charge[], options: DecideOptions = {}): Outcome {
    this.#mustBeOpen();
    const located = this.#locator.locateAll(mergeEqual(charges));
    const { requestId, hold = false } = options;
    if (requestId === undefined) return this.#decideLocated(charges, located, options);
    const prints = located.map(toPrint);
    const request = { requestId, prints, isHeld: hold === true, nowMs: located[0].nowMs };
    const before = this.#requests.recall(request);
    if (before !== undefined) return withKeys(before, charges);
    const outcome = this.#decideLocated(charges, located, options);
    if (outcome.isAdmitted) {
      const name = this.#requests.record(request, withoutKeys(outcome, charges));
      for (const { proof } of outcome.receipts) (proof as OpenReceipt).requestName = name;
    }
    return outcome;
  }

  peek(charges: readonly Charge[], options: PeekOptions = {}): readonly Verdict[] {
    this.#mustBeOpen();
    const located = this.#locator.locateAll(charges);
    return located.map((at) => {
      const { cells } = at.placement;
      const step = asItStands(at, cells.weigh(at.slot, at.charge.cost, at.nowMs, 1));
      const blockedMs = this.#blockedMs(at, options.blockNowMs ?? at.charge.nowMs);
      return toBlocked(toVerdict(step, cells.limit.limit), blockedMs);
    });
  }

  debit(charges: readonly Charge[]): readonly Standing[] {
    this.#mustBeOpen();
    return charges.map((charge) => {
      if (charge.cost > 0) this.#charge(charge);
      const { placement, slot, nowMs } = this.#locator.locate(charge);
      const { cells } = placement;
      const verdict = toVerdict(cells.weigh(slot, 0, nowMs, 0), cells.limit.limit);
      return { ...verdict, used: slot < 0 ? 0 : cells.share(slot, nowMs) * cells.limit.limit };
    });
  }

  settle(settlings: readonly Settling[]): void {
    this.#mustBeOpen();
    for (const { receipt, kept, nowMs } of settlings) {
      const open = receipt.proof as OpenReceipt;
      if (open.state === "settled") continue;
      const isLost = open.state === "lost";
      const { counter, key, cost } = receipt;
      if (kept > cost) this.#charge({ counter, key, cost: kept - cost, nowMs });
      else if (kept < cost && !isLost) this.#giveBack({ counter, key, cost, nowMs }, open, kept);
      this.#open.settle(open);
      // A request that was cancelled has not happened: sent again, it is decided anew.
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

  #giveBack(charge: Charge, open: OpenReceipt, kept: number): void {
    const at = this.#locator.locate(charge);
    // Locating it may have shown that the receipt tells of other numbers.
    if (at.slot < 0 || open.state !== "open") return;
    at.placement.cells.giveBack(at.slot, { receipt: open.receipt, kept }, at.nowMs);
    this.#open.settleGiven(open, at);
  }

  refund(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const at = this.#locator.locate(charge);
      const { cells } = at.placement;
      if (at.slot < 0) continue;
      cells.grant(at.slot, charge.cost, at.nowMs);
      this.#open.lowerAll(at);
    }
  }

  reset(charges: readonly Charge[]): void {
    this.#mustBeOpen();
    for (const charge of charges) {
      const at = this.#locator.locate(charge);
      const { cells } = at.placement;
      if (at.slot < 0) continue;
      cells.clear(at.slot);
      cells.table.free(at.slot);
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
  }

  close(): void {
    this.#isClosed = true;
  }

  #decideLocated(
    charges: readonly Charge[],
    located: readonly Located[],
    { hold = false, blockNowMs }: DecideOptions,
  ): Outcome {
    const steps = located.map((at) => {
      const { cells } = at.placement;
      return cells.weigh(at.slot, at.charge.cost, at.nowMs, countAlike(located, cells));
    });
    const blockedMs = located.map((at) => this.#blockedMs(at, blockNowMs ?? at.charge.nowMs));
    const passes = steps.map((step, i) => step.allowed && blockedMs[i] === 0);
    const isAdmitted = passes.every((pass, i) => pass || located[i].charge.shadow === true);
    const verdicts = located.map((at, i) => {
      const step = isAdmitted && passes[i] ? steps[i] : asItStands(at, steps[i]);
      return toBlocked(toVerdict(step, at.placement.cells.limit.limit), blockedMs[i]);
    });
    const receipts: ChargeReceipt[] = [];
    for (const [i, at] of located.entries()) {
      if (at.slot < 0 || steps[i].allowed) continue;
      at.placement.cells.keepRefused(at.slot, steps[i], at.nowMs);
    }
    if (isAdmitted) {
      const delayMs = steps.reduce((longest, step) => Math.max(longest, step.delayMs), 0);
      for (const [i, at] of located.entries()) {
        if (passes[i]) this.#take(at, steps[i], delayMs, hold, receipts);
      }
    }
    const merged = located.map(({ charge }) => charge);
    return { isAdmitted, verdicts: spreadVerdicts(verdicts, charges, merged), receipts };
  }

  /** Takes a charge, and adds its receipt if one is wanted. */
  #take(
    at: Located,
    step: AnyStep,
    delayMs: number,
    hold: boolean | "briefly",
    receipts: ChargeReceipt[],
  ): void {
    const { cells } = at.placement;
    const { counter, key, cost } = at.charge;
    // A permit's time starts when its request goes on.
    const isPermit = cells.limit.algorithm === "concurrency";
    const taken = isPermit ? { ...step, mark: step.mark + Math.ceil(delayMs) } : step;
    if (cost > 0) {
      // Claiming a slot for an earlier charge of this request may have moved this one's.
      const slot = cells.table.find(at.low, at.high);
      cells.keep(slot >= 0 ? slot : this.#locator.claim(at), taken, cost, slot < 0, at.nowMs);
    }
    if (hold === false || at.charge.isFinal === true) return;
    const { mark, before } = taken;
    const proof = this.#open.make(at, { cost, atMs: at.nowMs, mark, before });
    if (hold === true) this.#open.add(proof);
    receipts.push({ counter, key, cost, proof });
  }

  /** How long the key is still blocked under its scope. */
  #blockedMs(at: Pick<Located, "placement" | "low" | "high">, nowMs: number): number {
    if (this.#blocks.isEmpty) return 0;
    const { placement } = at;
    const low = at.low ^ placement.saltLow ^ placement.blockSaltLow;
    const high = at.high ^ placement.saltHigh ^ placement.blockSaltHigh;
    return Math.max(0, this.#blocks.untilMs(low, high, nowMs) - nowMs);
  }

  #forget(slot: number, id: number, nowMs: number): void {
    const cells = this.#placements.cellsById(id);
    const share = cells.share(slot, nowMs);
    if (share > 0) {
      this.#evictions++;
      this.#debtGivenUp += share;
    }
    cells.clear(slot);
    this.#open.loseKey(cells.table.tagOf(slot));
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this memory store");
  }
}

/** A store in the memory of this process, bounded by `keysMax`; see {@link MemoryStoreOptions}. */
export function memoryStore(options?: MemoryStoreOptions): MemoryStore {
  return new MemoryStore(options);
}

/** How many charges of the request may need an entry of the same arena. */
function countAlike(located: readonly Located[], { limit }: Cells): number {
  const isAlike = (at: Located) => at.placement.cells.limit.algorithm === limit.algorithm;
  return located.length === 1 ? 1 : located.filter(isAlike).length;
}

/** The step of a charge that is not taken, with what is left and in use as they stand. */
function asItStands(at: Located, step: AnyStep): AnyStep {
  if (!step.allowed) return step;
  // What is left now is what a charge of nothing would leave.
  const { remaining, resetMs } = at.placement.cells.weigh(at.slot, 0, at.nowMs, 0);
  return { ...step, remaining, resetMs };
}

function toBlocked(verdict: Verdict, blockedMs: number): Verdict {
  if (blockedMs === 0) return verdict;
  const retryAfterMs = Math.max(blockedMs, verdict.retryAfterMs);
  const resetMs = Math.max(blockedMs, verdict.resetMs);
  return { ...verdict, allowed: false, remaining: 0, retryAfterMs, resetMs, delayMs: 0 };
}
