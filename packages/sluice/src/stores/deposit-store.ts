// Deposits: budget that a region holds of limits that another region, the home region, counts. A store that processes of
// a region share may keep them, so that a lease that one process has from home serves all of them. They are
// beside the store's counters: a deposit is nothing but units that may be taken until they expire.

import type { MaybePromise } from "../base/maybe-promise.js";

/** Whose budget: that of one key under one limit. Under other numbers a limit has other deposits. */
export interface DepositPlace {
  readonly scope: string;
  readonly part: number;
  /** Distinguishes limits of one scope and part whose numbers differ. */
  readonly version: string;
  readonly key: string;
}

/** Units that are asked for. */
export interface DepositAsk {
  readonly place: DepositPlace;
  /** 0: nothing is taken, and the answer says what there is. */
  readonly units: number;
  /** Units that expire sooner are not taken: what is taken may be spent until then. */
  readonly lifeMsMin: number;
  /** Whether the ask is new demand, and may have to fetch the next lease: false of one that is repeated. */
  readonly isNew: boolean;
  /** The time by the limit's clock and by that of blocks. A store with a clock of its own ignores them. */
  readonly nowMs: number;
  readonly blockNowMs: number;
}

/** Units out of one deposit. */
export interface DepositPart {
  readonly id: string;
  readonly units: number;
}

/** How much was asked for lately. */
export interface DepositDemand {
  readonly asks: number;
  readonly units: number;
  /** In how many milliseconds. */
  readonly inMs: number;
}

/** What was taken: all units that were asked for, or none. */
export interface DepositAnswer {
  /** The time by the store's clock. */
  readonly nowMs: number;
  readonly isCovered: boolean;
  /** Which deposits the units came from. Empty if nothing was taken. */
  readonly parts: readonly DepositPart[];
  /** Units that are left and live. */
  readonly left: number;
  /** Until the full limit is back, as the home region said when it last granted a lease. */
  readonly resetMs: number;
  /** How long the key is still blocked, Infinity if until it is unblocked; 0 if it is not. */
  readonly blockedMs: number;
  /** Whether the next lease is due, and this caller, and no other for a second, is to fetch it. */
  readonly isDue: boolean;
  readonly demand: DepositDemand;
}

/** Budget that was leased from the home region. */
export interface Deposit {
  readonly place: DepositPlace;
  readonly id: string;
  readonly units: number;
  /** By the clock of the store that keeps it, as `take` showed it: never by that of another region. */
  readonly expiresAtMs: number;
  /** The most that it may live from now, whatever became of the clock meanwhile. */
  readonly lifeMsMax: number;
  /** When the full limit is back, by the same clock. */
  readonly resetAtMs: number;
  readonly nowMs: number;
}

/** Which deposit is withdrawn. */
export interface Withdrawal {
  readonly place: DepositPlace;
  /** Undefined: all of the place. */
  readonly id: string | undefined;
  /** Only if nothing was taken for so long; 0: in any case. */
  readonly idleMsMin: number;
  readonly nowMs: number;
}

/** Deposits that processes of one region share. Each call is atomic. */
export interface DepositStore {
  /** Takes units, those that expire first first. */
  take(ask: DepositAsk): MaybePromise<DepositAnswer>;
  /** Adds a deposit. Returns whether it did: one that has expired is not added, and nothing of it is ever taken. */
  deposit(deposit: Deposit): MaybePromise<boolean>;
  /** Returns units to the deposits that they came from; to those that are gone, nothing. What returns was no demand. */
  restore(place: DepositPlace, parts: readonly DepositPart[], nowMs: number): MaybePromise<void>;
  /**
   * Removes a deposit, also one that has expired within the last {@link DEPOSIT_GRACE_MS}. Returns the units that were left
   * of it, 0 if there is none; undefined if it is not idle, and stays.
   */
  withdraw(withdrawal: Withdrawal): MaybePromise<number | undefined>;
}

/** Demand is remembered for about so long. The same in deposits.lua, as are the others. */
export const DEMAND_MS = 5_000;
/** How long a deposit that has expired can still be withdrawn. */
export const DEPOSIT_GRACE_MS = 10_000;
/** How long no other caller fetches the next lease. */
export const CLAIM_MS = 1_000;
/** A key that was asked for so often lately is worth a lease. */
export const ASKS_WARM = 2;
/** The most deposits of one key; beyond it those that expire first stay spent. */
export const DEPOSITS_MAX = 32;
