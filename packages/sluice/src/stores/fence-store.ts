// The fence of a home region: a record in the store of each region that may be home, of which one is in force. It says
// under which epoch and for how long the store decides, by its own clock. The store checks it in every call that
// carries an epoch, so that a caller that has not heard of a promotion, or a store that missed it, can't decide.

import { SluiceError, show } from "../base/errors.js";
import type { MaybePromise } from "../base/maybe-promise.js";

/** Who is home, as one store knows it. */
export interface HomeRecord {
  /** Raised by one with every promotion, from 1. */
  readonly epoch: number;
  /** The region that is home under this epoch. */
  readonly home: string;
  /** When this store starts and ends to be home, by its own clock. Both are 0 if another one is. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** This store does not become home before, by its own clock: the other one was promised as much. 0: it was not. */
  readonly notBeforeMs: number;
}

/** What a store answers. */
export interface FenceReading {
  /** The time by the store's clock. */
  readonly nowMs: number;
  /** The record as it is written; "" if there is none. */
  readonly text: string;
}

/** A change that happens only if the record is still what was read. */
export interface FenceSwap {
  readonly expected: string;
  readonly next: string;
  /** The time of the caller. A store with a clock of its own ignores it. */
  readonly nowMs: number;
}

/** The record of one store. */
export interface FenceStore {
  /** @param nowMs - The time of the caller. A store with a clock of its own ignores it. */
  read(nowMs: number): MaybePromise<FenceReading>;
  swap(swap: FenceSwap): MaybePromise<FenceReading & { readonly isSwapped: boolean }>;
  /** Calls of this process that the store refused because it was not home under their epoch. */
  readonly refusals: number;
}

const FENCED = "SLUICE_HOME_FENCED";
const RECORD = /^(\d+) (\S+) (\d+) (\d+) (\d+)$/;

/** How a record is written. fenced.lua reads the same. */
export function toRecordText(record: HomeRecord): string {
  const { epoch, home, fromMs, untilMs, notBeforeMs } = record;
  return `${epoch} ${home} ${fromMs} ${untilMs} ${notBeforeMs}`;
}

/** A record as it was written; undefined if there is none, or it can't be read. */
export function readRecord(text: string): HomeRecord | undefined {
  const match = RECORD.exec(text);
  if (match === null) return undefined;
  const [epoch, fromMs, untilMs, notBeforeMs] = [match[1], match[3], match[4], match[5]].map(
    Number,
  );
  return { epoch, home: match[2], fromMs, untilMs, notBeforeMs };
}

/** Whether a store with this record decides under an epoch at this time of its clock. */
export function isHomeAt(record: HomeRecord | undefined, epoch: number, nowMs: number): boolean {
  if (record === undefined || record.epoch !== epoch) return false;
  return nowMs >= record.fromMs && nowMs < record.untilMs;
}

/** The refusal of a store that is not home. */
export function fencedError(text: string): SluiceError {
  const seen = text === "" ? "it has no record of a home region" : `its record is ${show(text)}`;
  return new SluiceError(FENCED, seen);
}

/** Whether a store answered that it is not home: it works, but can't decide. */
export function isFenced(error: unknown): boolean {
  return error instanceof SluiceError && error.code === FENCED;
}
