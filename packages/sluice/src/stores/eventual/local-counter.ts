// What one process knows of one key: what it admitted and has not told yet, and how fast the others
// spend. Between two exchanges the others go on: without assuming so, each of N processes would
// spend the whole of what is left. What is assumed lies in the local counter like any charge, and
// the next exchange confirms it or takes it back.

import { NO_PLACE } from "../../base/linked-list.js";
import type { Limit } from "../../limits/limits.js";
import type { MemoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, Standing } from "../store.js";

/** Differences below this are the rounding of a quotient, not units. */
const UNITS_ERROR_MAX = 1e-6;
/** The rate of the others is believed for so many exchanges that failed. */
const ASSUMED_SYNCS_MAX = 10;
/** What is left of a rate that was too high, after an exchange that showed it. */
const RATE_DECAY = 0.9;

/** One key as this process sees it. All units are whole, those of a bucket in use apart. */
export class View {
  /** Under the numbers that were asked for last. */
  counter: Counter;
  readonly key: string;
  /** Its place in the list of all views. */
  place: number = NO_PLACE;
  /** Admitted here and not yet told; below zero: given back. */
  deltaUnits = 0;
  /** Told in the exchange that is under way. */
  sentUnits = 0;
  /** Units that were told without an answer: they may have been heard. */
  unsureUnits = 0;
  /** Whether it was asked for since it was exchanged last, and so is to be exchanged. */
  isTouched = false;
  /** Changed by what makes the answer to an exchange under way outdated. */
  version = 0;
  /** The latest time of a charge. */
  nowMs = 0;
  /** How far the time of charges is ahead of the store's clock. */
  skewMs = 0;
  /** When it was exchanged last, by the time of charges; NaN before the first. */
  learnedAtMs = Number.NaN;
  /** When blocks were looked for last, by the clock; before the first long ago. */
  blocksSeenAtMs = Number.NEGATIVE_INFINITY;
  /** What the others spend, smoothed. */
  othersPerMs = 0;
  /** How far the assumption has come. */
  assumedAtMs = 0;
  /** The part of a unit that was not assumed yet. */
  owedUnits = 0;
  /** Units in the local counter that are assumed: since the last exchange, and in all. */
  assumedSinceUnits = 0;
  assumedUnits = 0;
  /** Whether something was refused since the last exchange, and before it. */
  isRefused = false;
  wasRefused = false;
  /** Whether the last exchange showed that not all was spent. */
  hadRoom = false;

  constructor(counter: Counter, key: string) {
    this.counter = counter;
    this.key = key;
  }

  /** Whether it was never exchanged: what others spent is not known at all. */
  get isNew(): boolean {
    return Number.isNaN(this.learnedAtMs);
  }
}

/** Where and how often views are exchanged. */
export interface ViewSetup {
  readonly local: MemoryStore;
  readonly syncMs: number;
}

/** Charges locally what the others will have spent by now, as far as there is room for it. */
export function assumeOthers(view: View, setup: ViewSetup, nowMs: number): void {
  const endMs = Math.min(nowMs, view.learnedAtMs + ASSUMED_SYNCS_MAX * setup.syncMs);
  const passedMs = endMs - view.assumedAtMs;
  if (!(passedMs > 0)) return;
  const owed = view.owedUnits + passedMs * view.othersPerMs;
  const units = Math.floor(owed);
  view.assumedAtMs = endMs;
  view.owedUnits = owed - units;
  if (units === 0) return;
  const taken = takeUpTo(view, setup.local, units, nowMs);
  view.assumedUnits += taken;
  view.assumedSinceUnits += taken;
}

/** No more than fits: whoever decides as we do refuses the rest. */
function takeUpTo(view: View, local: MemoryStore, units: number, nowMs: number): number {
  const { counter, key } = view;
  const { allowed, remaining } = local.decideOne(counter, key, units, nowMs);
  if (allowed) return units;
  return remaining > 0 && local.decideOne(counter, key, remaining, nowMs).allowed ? remaining : 0;
}

/** An answer of the store: how the key stood, asked for at `sentAtMs` and known at `nowMs`. */
export interface Answer {
  readonly standing: Standing;
  readonly sentAtMs: number;
  readonly nowMs: number;
}

/**
 * Makes the local counter agree with the store. What others spent but have not told yet is part of
 * what was assumed since the last exchange: so much may stand above what the store says.
 */
export function learnStanding(view: View, setup: ViewSetup, answer: Answer): void {
  const { standing, sentAtMs, nowMs } = answer;
  const charge = { counter: view.counter, key: view.key, cost: 0, nowMs };
  const local = usedOf(setup.local, charge);
  // What was used is all back if that took less time than the answer: a window has ended.
  const told = standing.resetMs <= nowMs - sentAtMs ? 0 : standing.used;
  const known = Math.max(0, told + view.deltaUnits);
  const untoldMax = view.assumedSinceUnits * untoldShare(view.counter.limit);
  const untold = Math.max(0, Math.min(local - known, untoldMax));
  const others = known - (local - Math.min(view.assumedUnits, local));
  learnRate(view, setup, {
    units: Math.max(0, Math.min(others, told)),
    sentAtMs,
    hasRoom: known + untold < standing.limit,
  });
  correct(setup.local, charge, known + untold - local);
  view.assumedUnits = untold;
  view.assumedSinceUnits = 0;
  view.owedUnits = 0;
  view.assumedAtMs = nowMs;
  view.learnedAtMs = sentAtMs;
  view.hadRoom = known < standing.limit;
  view.wasRefused = view.isRefused;
  view.isRefused = false;
}

/**
 * Others tell between nothing and a whole interval late. Where room comes back bit by bit the mean
 * is right, since an error is made good by the next exchange. Where it comes back at once, what is
 * admitted too much stays so: there the latest they can be is assumed.
 */
function untoldShare(limit: Limit): number {
  return comesBackGradually(limit) ? 0.5 : 1;
}

function comesBackGradually({ algorithm }: Limit): boolean {
  return (
    algorithm === "tokenBucket" ||
    algorithm === "leakyBucket" ||
    algorithm === "slidingWindowCounter"
  );
}

interface Seen {
  /** What the others told since the exchange before. */
  readonly units: number;
  readonly sentAtMs: number;
  /** Whether not all was spent, also by what the others may not have told yet. */
  readonly hasRoom: boolean;
}

/**
 * Where nothing was refused, others spend what they want, and a mean follows it. Where something was,
 * they would spend more if they could: what is seen then only raises the rate. If there was room all
 * the same, the rate was too high. A limit that comes back gradually then is at its balance, and the
 * mean is right again; of one that comes back at once the rate is needed when it does, and decays.
 */
function learnRate(view: View, { syncMs }: ViewSetup, seen: Seen): void {
  const passedMs = seen.sentAtMs - view.learnedAtMs;
  if (!(passedMs > 0)) return;
  const perMs = seen.units / passedMs;
  const before = view.othersPerMs;
  const isHeldBack = view.isRefused || view.wasRefused;
  const isTooHigh = view.isRefused && view.hadRoom && seen.hasRoom;
  if (!isHeldBack || (isTooHigh && comesBackGradually(view.counter.limit))) {
    // Half of the weight is on the latest interval of full length, less on shorter ones.
    const weight = before === 0 ? 1 : 1 - 0.5 ** (passedMs / syncMs);
    view.othersPerMs = before + weight * (perMs - before);
  } else {
    view.othersPerMs = Math.max(perMs, isTooHigh ? before * RATE_DECAY : before);
  }
}

/** Charges or gives back whole units; a part of one is refused rather than admitted twice. */
function correct(local: MemoryStore, charge: Charge, units: number): void {
  const missing = Math.ceil(units - UNITS_ERROR_MAX);
  if (missing > 0) local.debit([{ ...charge, cost: missing }]);
  else if (missing < 0) local.refund([{ ...charge, cost: -missing }]);
}

/** The units in use in a local counter; the cost of the charge does not matter. */
export function usedOf(local: MemoryStore, charge: Charge): number {
  return local.debit([{ ...charge, cost: 0 }])[0].used;
}
