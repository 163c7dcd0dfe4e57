// Decides lists of charges, all or nothing. All are located first. Then each is charged on trial, and restored if an
// enforced one is refused. Charges that can't be restored, or that need a receipt, are only evaluated, and charged
// when all have passed.

import type { Verdict } from "../../base/decision.js";
import type { Charge, ChargeReceipt, Counter, DecideOptions, HoldMode, Outcome } from "../store.js";
import type { Blocks } from "./blocked-keys.js";
import { type AnyStep, type Cells, toVerdict } from "./cells/cells.js";
import { RequestColumns } from "./columns.js";
import type { Locator } from "./locator.js";
import type { OpenReceipts } from "./open-receipts.js";

/** Columns are kept for lists up to this length; a longer one gets its own. */
const CHARGES_KEPT_MAX = 64;

/** Decides the lists of one memory store. It calls no outside code, so it is never entered twice. */
export class AllOrNothing {
  readonly #locator: Locator;
  readonly #blocks: Blocks;
  readonly #open: OpenReceipts;
  readonly #columns = new RequestColumns(CHARGES_KEPT_MAX);

  constructor(locator: Locator, blocks: Blocks, open: OpenReceipts) {
    this.#locator = locator;
    this.#blocks = blocks;
    this.#open = open;
  }

  /** Lets go of a counter. */
  forget(counter: Counter): void {
    this.#columns.forget(counter);
  }

  /** Decides charges of which no two are on the same counter and key. */
  decide(charges: readonly Charge[], { hold = false, blockNowMs }: DecideOptions): Outcome {
    const { length } = charges;
    const at = length > CHARGES_KEPT_MAX ? new RequestColumns(length) : this.#columns;
    this.#locator.locateAll(charges, at);
    const isUnheld = hold === false && this.#blocks.isEmpty;
    // Allocated with its final length: an array that grows has room for many more.
    const verdicts = new Array<Verdict>(length);
    let allowed = true;
    for (let i = 0; i < length; i++) {
      const charge = charges[i];
      const verdict =
        isUnheld && canUndo(at, i)
          ? takeOnTrial(charge, at, i)
          : this.#takeOrWeigh(charges, at, i, hold, blockNowMs ?? charge.nowMs);
      if (!verdict.allowed && charge.shadow !== true) allowed = false;
      verdicts[i] = verdict;
    }
    if (!allowed) return putBack(at, verdicts);
    const receipts = at.isAnyWeighed ? this.#takeWeighed(charges, at, verdicts, hold) : NO_RECEIPTS;
    return { allowed, verdicts, receipts };
  }

  /** A charge that may be blocked, or held, or without a slot. */
  #takeOrWeigh(
    charges: readonly Charge[],
    at: RequestColumns,
    i: number,
    hold: HoldMode,
    blockNowMs: number,
  ): Verdict {
    const blockedMs = this.#blocks.leftMs(at.placements[i], at.lows[i], at.highs[i], blockNowMs);
    const isTaken = blockedMs === 0 && canUndo(at, i) && !isHeld(charges[i], hold);
    return isTaken ? takeOnTrial(charges[i], at, i) : weigh(charges, at, i, blockedMs);
  }

  /** Takes what was only weighed, and makes the receipts that are wanted. */
  #takeWeighed(
    charges: readonly Charge[],
    at: RequestColumns,
    verdicts: readonly Verdict[],
    hold: HoldMode,
  ): readonly ChargeReceipt[] {
    const delayMs = longestDelayMs(verdicts);
    const receipts: ChargeReceipt[] = [];
    for (let i = 0; i < charges.length; i++) {
      const weighed = at.steps[i];
      if (weighed === undefined || !verdicts[i].allowed) continue;
      const charge = charges[i];
      const { cells } = at.placements[i];
      const step = isPermit(cells) ? startLater(weighed, delayMs) : weighed;
      keep(charge, at, i, step, isHeld(charge, hold) && hold !== "briefly");
      if (isHeld(charge, hold)) receipts.push(this.#toReceipt(charge, at, i, step, hold));
    }
    return receipts;
  }

  #toReceipt(
    { counter, key, cost }: Charge,
    at: RequestColumns,
    i: number,
    { mark, before }: AnyStep,
    hold: HoldMode,
  ): ChargeReceipt {
    const print = { low: at.lows[i], high: at.highs[i] };
    const proof = this.#open.make(print, { cost, atMs: at.timesMs[i], mark, before });
    if (hold !== "briefly") this.#open.add(proof);
    return { counter, key, cost, proof };
  }
}

const NO_RECEIPTS: readonly ChargeReceipt[] = Object.freeze([]);

function isHeld(charge: Charge, hold: HoldMode): boolean {
  return hold !== false && charge.isFinal !== true;
}

/** Whether a charge can be put back as if it had never been taken. */
function canUndo(at: RequestColumns, i: number): boolean {
  return at.slots[i] >= 0 && at.placements[i].cells.isAllInSlot;
}

/** Takes a charge if it passes alone. */
function takeOnTrial({ cost }: Charge, at: RequestColumns, i: number): Verdict {
  at.steps[i] = undefined;
  at.save(i);
  return at.placements[i].cells.decide(at.slots[i], cost, at.timesMs[i]);
}

/** Weighs a charge, which is taken later or never. */
function weigh(
  charges: readonly Charge[],
  at: RequestColumns,
  i: number,
  blockedMs: number,
): Verdict {
  const { cells } = at.placements[i];
  const slot = at.slots[i];
  const nowMs = at.timesMs[i];
  const step = cells.weigh(slot, charges[i].cost, nowMs, countAlike(charges, cells));
  at.steps[i] = step;
  at.isAnyWeighed = true;
  if (slot >= 0 && !step.allowed) cells.keepUse(slot, charges[i].cost, nowMs);
  const verdict = toVerdict(step, cells.limit.capacity);
  return blockedMs > 0 ? toBlocked(asItStands(verdict, cells, slot, nowMs), blockedMs) : verdict;
}

/** How many charges of the request may need an entry of the same arena. */
function countAlike(charges: readonly Charge[], cells: Cells): number {
  if (cells.isAllInSlot) return 1;
  let alike = 0;
  for (const { counter } of charges) {
    if (counter.limit.algorithm === cells.limit.algorithm) alike++;
  }
  return alike;
}

/** The refusal of a list: what was taken on trial is put back, and nothing is taken. */
function putBack(at: RequestColumns, verdicts: Verdict[]): Outcome {
  // The last one first: should two share a slot, the first has the state from before both.
  for (let i = verdicts.length - 1; i >= 0; i--) {
    if (verdicts[i].allowed && at.steps[i] === undefined) at.restore(i);
  }
  for (let i = 0; i < verdicts.length; i++) {
    const { cells } = at.placements[i];
    verdicts[i] = asItStands(verdicts[i], cells, at.slots[i], at.timesMs[i]);
  }
  return { allowed: false, verdicts, receipts: NO_RECEIPTS };
}

/** Keeps a charge that was weighed, in a slot that is claimed for it if it has none. */
function keep(
  { cost, nowMs }: Charge,
  at: RequestColumns,
  i: number,
  step: AnyStep,
  isHeld: boolean,
): void {
  const { cells } = at.placements[i];
  const { table } = cells;
  // Claiming a slot for an earlier charge of this request may have moved this one's.
  const found = table.find(at.lows[i], at.highs[i]);
  if (cost === 0) {
    if (found >= 0) cells.keepUse(found, cost, at.timesMs[i]);
    return;
  }
  // By the time that all keys share: what others' loss costs is not known from this key's own.
  const slot = found >= 0 ? found : table.claim(at.lows[i], at.highs[i], cells.id, nowMs);
  cells.keep(slot, step, cost, found < 0, at.timesMs[i], isHeld);
}

function isPermit({ limit }: Cells): boolean {
  return limit.algorithm === "concurrency";
}

/** A permit's time starts when its request continues. */
function startLater(step: AnyStep, delayMs: number): AnyStep {
  return delayMs === 0 ? step : { ...step, mark: step.mark + Math.ceil(delayMs) };
}

function longestDelayMs(verdicts: readonly Verdict[]): number {
  let longest = 0;
  for (const { delayMs } of verdicts) if (delayMs > longest) longest = delayMs;
  return longest;
}

/** The verdict on a charge that is not taken, with what is left and in use as they stand. */
export function asItStands(verdict: Verdict, cells: Cells, slot: number, nowMs: number): Verdict {
  if (!verdict.allowed) return verdict;
  // What is left now is what a charge of nothing would leave.
  const { remaining, resetMs } = cells.weigh(slot, 0, nowMs, 0);
  const { limit, delayMs, source } = verdict;
  return { allowed: true, limit, remaining, retryAfterMs: 0, resetMs, delayMs, source };
}

/** The verdict on a charge of a key that is blocked for this long; 0: it is not blocked. */
export function toBlocked(verdict: Verdict, blockedMs: number): Verdict {
  if (blockedMs === 0) return verdict;
  // Written out: two spreads would take longer than the whole decision of a flood (bench abuse/blocked).
  return {
    allowed: false,
    limit: verdict.limit,
    remaining: 0,
    retryAfterMs: Math.max(blockedMs, verdict.retryAfterMs),
    resetMs: Math.max(blockedMs, verdict.resetMs),
    delayMs: 0,
    source: verdict.source,
    blockedMs,
  };
}

/** The refusal of a key that is blocked for this long, as a list of charges would get it. */
export function refuseBlocked(
  cells: Cells,
  slot: number,
  cost: number,
  atMs: number,
  blockedMs: number,
): Verdict {
  const step = cells.weigh(slot, cost, atMs, 1);
  if (slot >= 0 && !step.allowed) cells.keepUse(slot, cost, atMs);
  const verdict = toVerdict(step, cells.limit.capacity);
  return toBlocked(asItStands(verdict, cells, slot, atMs), blockedMs);
}
