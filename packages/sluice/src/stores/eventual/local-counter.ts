// What one process knows about one key: what it admitted and has not sent yet, and how fast the others
// spend. Between two syncs the others go on spending: without that assumption, each of N processes would
// spend all that is left. The assumed units are charged to the local counter like any others, and
// the next sync confirms or refunds them.

import { NO_PLACE } from "../../base/linked-list.js";
import type { Limit } from "../../limits/limits.js";
import type { MemoryStore } from "../memory/memory-store.js";
import type { Charge, Counter, CounterStatus } from "../store.js";

/** Differences below this are the rounding of a quotient, not units. */
const UNITS_ERROR_MAX = 1e-6;
/** How many failed syncs the assumed rate of the others outlasts. */
const ASSUMED_SYNCS_MAX = 10;
/** The factor that lowers an assumed rate after a sync shows that it was too high. */
const RATE_DECAY = 0.9;

/** One key as this process sees it. All units are whole, those of a bucket in use apart. */
export class LocalCounter {
  /** Under the numbers that were asked for last. */
  counter: Counter;
  readonly key: string;
  /** Its place in the list of all local counters. */
  place: number = NO_PLACE;
  /** Admitted here and not yet sent; below zero: refunded. */
  deltaUnits = 0;
  /** Sent in the sync that is under way. */
  sentUnits = 0;
  /** Units that were sent without an answer: they may have been counted. */
  unsureUnits = 0;
  /** Whether it was asked for since it was synced last, and so is to be synced. */
  isTouched = false;
  /** Changed by what makes the answer to a sync under way outdated. */
  version = 0;
  /** The latest time of a charge. */
  nowMs = 0;
  /** How far the time of charges is ahead of the store's clock. */
  skewMs = 0;
  /** When it was synced last, by the time of charges; NaN before the first. */
  learnedAtMs = Number.NaN;
  /** When blocks were looked for last, by the clock; before the first long ago. */
  blocksSeenAtMs = Number.NEGATIVE_INFINITY;
  /** What the others spend, smoothed. */
  othersPerMs = 0;
  /** How far the assumption has come. */
  assumedAtMs = 0;
  /** The part of a unit that was not assumed yet. */
  owedUnits = 0;
  /** Units in the local counter that are assumed: since the last sync, and in all. */
  assumedSinceUnits = 0;
  assumedUnits = 0;
  /** Whether something was refused since the last sync, and before it. */
  isRefused = false;
  wasRefused = false;
  /** Whether the last sync showed that not all was spent. */
  hadRoom = false;

  constructor(counter: Counter, key: string) {
    this.counter = counter;
    this.key = key;
  }

  /** Whether it was never synced: what others spent is not known at all. */
  get isNew(): boolean {
    return Number.isNaN(this.learnedAtMs);
  }
}

/** Where and how often local counters are synced. */
export interface LocalCounterSetup {
  readonly local: MemoryStore;
  readonly syncMs: number;
}

/** Charges locally what the others will have spent by now, as far as there is room for it. */
export function assumeOthers(
  localCounter: LocalCounter,
  setup: LocalCounterSetup,
  nowMs: number,
): void {
  const endMs = Math.min(nowMs, localCounter.learnedAtMs + ASSUMED_SYNCS_MAX * setup.syncMs);
  const passedMs = endMs - localCounter.assumedAtMs;
  if (!(passedMs > 0)) return;
  const owed = localCounter.owedUnits + passedMs * localCounter.othersPerMs;
  const units = Math.floor(owed);
  localCounter.assumedAtMs = endMs;
  localCounter.owedUnits = owed - units;
  if (units === 0) return;
  const taken = takeUpTo(localCounter, setup.local, units, nowMs);
  localCounter.assumedUnits += taken;
  localCounter.assumedSinceUnits += taken;
}

/** No more than fits: other processes decide the same way and refuse the rest. */
function takeUpTo(
  localCounter: LocalCounter,
  local: MemoryStore,
  units: number,
  nowMs: number,
): number {
  const { counter, key } = localCounter;
  const { allowed, remaining } = local.decideOne(counter, key, units, nowMs);
  if (allowed) return units;
  return remaining > 0 && local.decideOne(counter, key, remaining, nowMs).allowed ? remaining : 0;
}

/** An answer of the store: how the key stood, asked for at `sentAtMs` and known at `nowMs`. */
export interface SyncAnswer {
  readonly status: CounterStatus;
  readonly sentAtMs: number;
  readonly nowMs: number;
}

/**
 * Makes the local counter agree with the store. Units that others spent but have not sent yet are
 * part of what was assumed since the last sync, so the local counter may exceed the store's by that much.
 */
export function learnStatus(
  localCounter: LocalCounter,
  setup: LocalCounterSetup,
  answer: SyncAnswer,
): void {
  const { status, sentAtMs, nowMs } = answer;
  const charge = { counter: localCounter.counter, key: localCounter.key, cost: 0, nowMs };
  const local = usedOf(setup.local, charge);
  // If the limit recovers in less time than the answer took, nothing is in use: a window has ended.
  const used = status.resetMs <= nowMs - sentAtMs ? 0 : status.used;
  const known = Math.max(0, used + localCounter.deltaUnits);
  const unsentMax = localCounter.assumedSinceUnits * unsentShare(localCounter.counter.limit);
  const unsent = Math.max(0, Math.min(local - known, unsentMax));
  const others = known - (local - Math.min(localCounter.assumedUnits, local));
  learnRate(localCounter, setup, {
    units: Math.max(0, Math.min(others, used)),
    sentAtMs,
    hasRoom: known + unsent < status.limit,
  });
  correct(setup.local, charge, known + unsent - local);
  localCounter.assumedUnits = unsent;
  localCounter.assumedSinceUnits = 0;
  localCounter.owedUnits = 0;
  localCounter.assumedAtMs = nowMs;
  localCounter.learnedAtMs = sentAtMs;
  localCounter.hadRoom = known < status.limit;
  localCounter.wasRefused = localCounter.isRefused;
  localCounter.isRefused = false;
}

/**
 * Others send between nothing and a whole interval late. Where room comes back bit by bit the mean
 * is right, since the next sync corrects an error. Where it comes back all together, what is
 * admitted too much stays so: there the latest they can be is assumed.
 */
function unsentShare(limit: Limit): number {
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
  /** What the others sent since the sync before. */
  readonly units: number;
  readonly sentAtMs: number;
  /** Whether not all was spent, also by what the others may not have sent yet. */
  readonly hasRoom: boolean;
}

/**
 * Where nothing was refused, others spend what they want, and a mean follows it. Where something was,
 * they would spend more if they could: what is seen then only raises the rate. If there was room all
 * the same, the rate was too high. A limit that comes back gradually then is at its balance, and the
 * mean is right again; of one that comes back all together the rate is needed when it does, and decays.
 */
function learnRate(localCounter: LocalCounter, { syncMs }: LocalCounterSetup, seen: Seen): void {
  const passedMs = seen.sentAtMs - localCounter.learnedAtMs;
  if (!(passedMs > 0)) return;
  const perMs = seen.units / passedMs;
  const before = localCounter.othersPerMs;
  const isHeldBack = localCounter.isRefused || localCounter.wasRefused;
  const isTooHigh = localCounter.isRefused && localCounter.hadRoom && seen.hasRoom;
  if (!isHeldBack || (isTooHigh && comesBackGradually(localCounter.counter.limit))) {
    // Half of the weight is on the latest interval of full length, less on shorter ones.
    const weight = before === 0 ? 1 : 1 - 0.5 ** (passedMs / syncMs);
    localCounter.othersPerMs = before + weight * (perMs - before);
  } else {
    localCounter.othersPerMs = Math.max(perMs, isTooHigh ? before * RATE_DECAY : before);
  }
}

/** Charges or refunds whole units; a fraction of one is refused rather than admitted twice. */
function correct(local: MemoryStore, charge: Charge, units: number): void {
  const missing = Math.ceil(units - UNITS_ERROR_MAX);
  if (missing > 0) local.debit([{ ...charge, cost: missing }]);
  else if (missing < 0) local.refund([{ ...charge, cost: -missing }]);
}

/** The units in use in a local counter; the cost of the charge does not matter. */
export function usedOf(local: MemoryStore, charge: Charge): number {
  return local.debit([{ ...charge, cost: 0 }])[0].used;
}
