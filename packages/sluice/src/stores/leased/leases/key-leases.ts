// What one process holds of one key's budget: at most two leases that were debited ahead, the older
// one spent first, those that are on their way home, and how large the next should be. Nothing here
// asks a store: it only counts, so it can't spend what was not debited.

import type { Verdict } from "../../../base/decision.js";
import { isAlive, isLease, isOut, type Lease, mayExpire, NOTHING, type Taken } from "./lease.js";

/** The size of a key's first lease, as a multiple of the decision that requested it. */
const ASKS_FIRST = 8;
/** However fast a key is: a sum of two leases stays exact, and far from what a limit can hold. */
const LEASE_UNITS_MAX = 2 ** 40;
/** A lease that is half spent within this share of its life was too small. */
const FAST_SHARE = 1 / 3;
/** In the last part of a lease's life its successor is asked for, however much is left. */
const LAST_SHARE = 1 / 4;
/**
 * A request of which nothing was heard for so long was not refused: longer than a body may take, and
 * then a store. Refused later, it gets nothing back.
 */
const BRIEF_MS_MAX = 10_000;
/**
 * The most leases of one key that wait for what is out, where no report says that requests go on. Each sweep
 * returns the oldest beyond half of it as they are; if it is reached in between, one counts as spent.
 */
export const LEAVING_MAX = 64;

/** The leases of one key, the units left in them, and the size of the next one. */
export class KeyLeases {
  lease: Lease = NOTHING;
  next: Lease | undefined;
  askedAtMs: number;
  /** When fewer units than this are left, the next lease is asked for; -1: not now. */
  lowAt = -1;
  /** From this time on it is asked for as well. */
  renewAtMs: number = Number.POSITIVE_INFINITY;
  /** Until then no lease is asked for: the store has just failed to give one. */
  restsUntilMs = 0;
  /** When all of the limit would be back, as the store last said. */
  resetAtMs = 0;
  /** Since when a lease is on its way; Infinity: none is. */
  askingAtMs: number = Number.POSITIVE_INFINITY;
  /** Changes whenever leases on their way are abandoned: a lease requested before that is not kept. */
  epoch = 0;
  /** Verbs under way (a reset, a block) that this key has to be strict for. */
  verbs = 0;
  /** Leases that are being returned: with the next sweep, or once none of their units are in use. */
  leaving: Lease[] = [];
  /** A lease on its way from the store: refusals wait for it. */
  pending: Promise<void> | undefined;
  #size: number;
  /** What the store said is left for all processes. */
  #remaining = 0;

  constructor(cost: number, atMs: number) {
    this.#size = Math.max(1, cost) * ASKS_FIRST;
    this.askedAtMs = atMs;
  }

  /** Whether a lease is on its way. */
  get isAsking(): boolean {
    return this.askingAtMs < Number.POSITIVE_INFINITY;
  }

  /** Units that can be spent, if their leases live. */
  get left(): number {
    return Math.max(0, this.lease.left) + (this.next?.left ?? 0);
  }

  /** Units that were not spent: those that can be, and those that are on their way home. */
  get unspent(): number {
    return this.leaving.reduce((sum, { left }) => sum + left, this.left);
  }

  /** Units of all its leases that were spent, or may have been. */
  get spent(): number {
    const units = this.leaving.reduce((sum, lease) => sum + lease.units, this.lease.units);
    return units + (this.next?.units ?? 0) - this.unspent;
  }

  /** Lets go of leases that are spent or have expired. */
  advance(atMs: number, nowMs: number, retire: (lease: Lease) => void): void {
    const { lease, next } = this;
    if (next !== undefined && (isSpent(next) || !isAlive(next, atMs, nowMs))) {
      this.next = undefined;
      this.#letGo(next, atMs, nowMs, retire);
      this.arm();
    }
    if (lease === NOTHING) return;
    const isDry = isSpent(lease) || this.#isOvertaken();
    if (!isDry && isAlive(lease, atMs, nowMs)) return;
    if (this.#ranDryFast(atMs)) this.#size = this.#doubled();
    this.#moveUp();
    this.#letGo(lease, atMs, nowMs, retire);
  }

  /** Whether the other lease takes over, and what comes back to this one returns to the store. */
  #isOvertaken(): boolean {
    const { lease, next } = this;
    return next !== undefined && lease.left === 0 && lease.lent === 0;
  }

  /** Retires leases that are spent or no longer usable; a lease with anything to return is leaving. */
  #letGo(lease: Lease, atMs: number, nowMs: number, retire: (lease: Lease) => void): void {
    const hasEnded = lease.endsForGood && !isAlive(lease, atMs, nowMs);
    const isFull = this.leaving.length >= LEAVING_MAX;
    if (isSpent(lease) || hasEnded || isFull) retire(lease);
    else this.#leave(lease, atMs);
  }

  #leave(lease: Lease, atMs: number): void {
    lease.waitsUntilMs = atMs + BRIEF_MS_MAX;
    this.leaving.push(lease);
  }

  /** Whether the leases at hand have enough, if they live. */
  covers(cost: number): boolean {
    return this.lease !== NOTHING && cost <= this.left;
  }

  /** Spends from the older lease, then from the younger one; nothing if they have too little. */
  spend(cost: number): boolean {
    if (!this.covers(cost)) return false;
    const { lease, next } = this;
    const first = Math.min(cost, lease.left);
    lease.left -= first;
    if (next !== undefined) next.left -= cost - first;
    return true;
  }

  /** Spends what is covered, for a request that may still be refused, and says of which leases. */
  spendBriefly(cost: number): Taken {
    const { lease, next } = this;
    const parts = [{ lease, units: Math.min(cost, lease.left) }];
    if (next !== undefined && cost > lease.left) {
      parts.push({ lease: next, units: cost - lease.left });
    }
    for (const part of parts) {
      part.lease.left -= part.units;
      part.lease.brief += part.units;
    }
    return { units: cost, parts };
  }

  /** Whether it is time to ask for the next lease. */
  isLow(atMs: number): boolean {
    return this.lease.left < this.lowAt || atMs >= this.renewAtMs;
  }

  /** Sets everything that is left aside for one decision; undefined if that is nothing. */
  takeAll(): Taken | undefined {
    const units = this.left;
    if (units === 0) return undefined;
    const parts = [this.lease, ...(this.next === undefined ? [] : [this.next])].map((lease) => {
      const part = { lease, units: lease.left };
      lease.lent += lease.left;
      lease.left = 0;
      return part;
    });
    return { units, parts };
  }

  /** Takes a lease in. Returns false if there are two already. */
  add(lease: Lease): boolean {
    if (this.lease === NOTHING) this.lease = lease;
    else if (this.next === undefined) this.next = lease;
    else return false;
    this.arm();
    return true;
  }

  /** Lets go of the leases that would expire by `untilMs` with something left. */
  leaveBefore(atMs: number, untilMs: number): void {
    const isAsked = (lease: Lease | undefined): lease is Lease =>
      isLease(lease) && mayExpire(lease, atMs, untilMs);
    const { lease, next } = this;
    if (isAsked(next)) this.next = undefined;
    if (isAsked(lease)) this.#moveUp();
    const asked = [lease, next].filter(isAsked);
    for (const one of asked) this.#leave(one, atMs);
    if (asked.some(({ left, units }) => left > units / 2)) this.shrink();
    this.arm();
  }

  /** Lets go of all leases, and waits for none that is on its way. */
  leaveAll(atMs: number): void {
    for (const lease of [this.lease, this.next]) if (isLease(lease)) this.#leave(lease, atMs);
    this.#clear();
  }

  /** Removes the leases that wait for nothing more, to be returned. */
  takeLeaving(atMs: number): readonly Lease[] {
    if (this.leaving.length === 0) return this.leaving;
    const excess = this.leaving.length - LEAVING_MAX / 2;
    const ready: Lease[] = [];
    const rest: Lease[] = [];
    for (const [i, lease] of this.leaving.entries()) {
      const isReady = !isOut(lease) || atMs >= lease.waitsUntilMs || i < excess;
      (isReady ? ready : rest).push(lease);
    }
    this.leaving = rest;
    return ready;
  }

  /** Abandons everything, including units lent out and leases on their way. Returns the leases, to be returned. */
  drop(): Lease[] {
    const leases = [...this.leaving, this.lease, this.next].filter(isLease);
    this.leaving = [];
    this.#clear();
    return leases;
  }

  #clear(): void {
    this.lease = NOTHING;
    this.next = undefined;
    this.stopAsking();
  }

  /** Waits no longer for the lease that is on its way: if it comes, it is not kept. */
  stopAsking(): void {
    this.epoch++;
    this.askingAtMs = Number.POSITIVE_INFINITY;
    this.disarm();
  }

  /** Remembers what the store said of the counter. */
  note(verdict: Verdict, sentAtMs: number): void {
    this.#remaining = verdict.remaining;
    this.resetAtMs = sentAtMs + verdict.resetMs;
  }

  /** The units to ask for next: as many as were of use lately, and no more than is fair. */
  plan(holders: number): number {
    const fair = fairUnits(this.#remaining, holders);
    return Math.min(this.#size, fair, LEASE_UNITS_MAX);
  }

  /** Whether the lease is spent fast enough to be followed by another; adapts the size. */
  isBusy(atMs: number): boolean {
    const { lease } = this;
    if (lease === NOTHING) return true;
    const lifeMs = lease.expiresAtMs - lease.sentAtMs;
    if (lease.left * 2 < lease.units) {
      if (atMs - lease.sentAtMs < lifeMs * FAST_SHARE) this.#size = this.#doubled();
      return true;
    }
    return (lease.units - lease.left) * 4 >= lease.units;
  }

  /** The next lease will be half as large. */
  shrink(): void {
    this.#size = Math.max(1, Math.floor(this.#size / 2));
  }

  /** Watches for the moment to ask for the next lease, unless it is here or on its way. */
  arm(): void {
    const { lease } = this;
    if (lease === NOTHING || this.next !== undefined || this.isAsking) {
      this.disarm();
      return;
    }
    this.lowAt = lease.units / 2;
    this.renewAtMs = lease.expiresAtMs - (lease.expiresAtMs - lease.sentAtMs) * LAST_SHARE;
  }

  disarm(): void {
    this.lowAt = -1;
    this.renewAtMs = Number.POSITIVE_INFINITY;
  }

  /** Whether the lease was spent early, before the next one came: it was too small. */
  #ranDryFast(atMs: number): boolean {
    const { lease, next } = this;
    const lifeMs = lease.expiresAtMs - lease.sentAtMs;
    return lease.left === 0 && next === undefined && atMs - lease.sentAtMs < lifeMs * FAST_SHARE;
  }

  #doubled(): number {
    return Math.min(this.#size * 2, LEASE_UNITS_MAX);
  }

  #moveUp(): void {
    this.lease = this.next ?? NOTHING;
    this.next = undefined;
    this.arm();
  }
}

/** The most that one of `holders` processes may take ahead of what remains. */
export function fairUnits(remaining: number, holders: number): number {
  return Math.floor(remaining / (2 * holders));
}

/** Whether nothing of the lease can be spent, now or later. */
function isSpent(lease: Lease): boolean {
  return lease.left === 0 && !isOut(lease);
}
