// Where time comes from. Everything else takes time as an argument; this file, and nothing
// else in the library, reads a clock.

import { SluiceError, show } from "./errors.js";
import { asGiven, type OptionSite, refuse } from "./shapes/code-options.js";

/** A source of time. `ManualClock` in `sluice/testing` is one that only tests move. */
export interface Clock {
  /** Milliseconds since 1970 that never step: rates, windows, permits and blocks run on them. */
  now(): number;
  /**
   * Wall-clock milliseconds since 1970, for calendar quotas, times in responses and the expiry of
   * tokens. Absent: the same as `now`.
   */
  wall?(): number;
  /**
   * Runs `task` once, `delayMs` from now, unless the function that it returns is called before.
   * Absent: by the system's timers.
   */
  after?(delayMs: number, task: () => void): CancelTimer;
}

/** Stops a timer that has not run yet. */
export type CancelTimer = () => void;

/** The latest time that can be counted exactly: the end of the year 2100, in milliseconds. */
export const TIME_MS_MAX: number = Date.UTC(2101, 0, 1) - 1;

// Taken once: in Node the global and its origin are getters that cost as much as reading the clock, and a
// global that a test replaces later must not affect how long a reading is used.
const { performance, queueMicrotask } = globalThis;
const originMs = performance.timeOrigin;
// In an array: V8 allocates an object for each large number that is assigned to a variable of a module.
const latestMs = new Float64Array(1);
let latestWallMs = 0;

/**
 * The default clock. `now` starts at the wall clock's reading of the process start and runs on
 * monotonic time, so stepping the wall clock changes no decision. `wall` follows the wall clock
 * forward but never back, so that a calendar period is not entered twice.
 */
export const systemClock: Clock = {
  now: readNow,
  wall: () => {
    latestWallMs = Math.max(latestWallMs, Date.now());
    return latestWallMs;
  },
  after: (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    // A limiter at work never keeps a process alive that has nothing else to do.
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};

function readNow(): number {
  const nowMs = Math.floor(originMs + performance.now());
  latestMs[0] = nowMs;
  return nowMs;
}

/** This many readings within one millisecond are a burst. */
const BURST_FROM = 32;
/** How many further decisions one reading serves in a burst. */
const DECISIONS_SERVED = 15;
let readingsAlike = 0;
let decisionsLeft = 0;
let isBurst = false;

/**
 * Makes the function that reads the time of a decision in this process. Reading the system's clock costs a
 * third of such a decision, so in a burst only every sixteenth decision reads it. A microtask ends
 * the burst: its time serves the synchronous code that it is in, and what was queued to run right behind that
 * code before the burst began. Other clocks are read every time.
 */
export function toDecisionClock(clock: Clock): () => number {
  return clock === systemClock ? nowInBurst : () => toWholeMs(clock.now());
}

function nowInBurst(): number {
  if (decisionsLeft > 0) {
    decisionsLeft--;
    return latestMs[0];
  }
  const beforeMs = latestMs[0];
  const nowMs = readNow();
  readingsAlike = nowMs === beforeMs ? readingsAlike + 1 : 0;
  if (readingsAlike >= BURST_FROM) serveMore();
  return nowMs;
}

function serveMore(): void {
  decisionsLeft = DECISIONS_SERVED;
  if (isBurst) return;
  isBurst = true;
  queueMicrotask(endBurst);
}

function endBurst(): void {
  isBurst = false;
  decisionsLeft = 0;
  readingsAlike = 0;
}

/** The clock that was passed as an option; default: the system's. Throws if it is not a clock. */
export function toClock(site: OptionSite, clock: unknown): Clock {
  if (clock === undefined) return systemClock;
  const { now, wall } = (
    typeof clock === "object" && clock !== null ? clock : {}
  ) as Partial<Clock>;
  if (typeof now === "function" && (wall === undefined || typeof wall === "function")) {
    return clock as Clock;
  }
  refuse(site, `clock must have a function now(), and optionally wall(), got ${show(clock)}`);
}

/** The longest delay that the system's timers can hold, in milliseconds: 24.8 days. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

/** Runs `task` once, `delayMs` from now by the timers that go with `clock`. */
export function startTimer(clock: Clock, delayMs: number, task: () => void): CancelTimer {
  const timers = clock.after === undefined ? systemClock : clock;
  return timers.after?.(delayMs, task) ?? (() => {});
}

/** Like {@link startTimer}, for work that a caller awaits: a timer of the system keeps the process alive. */
export function startRefTimer(clock: Clock, delayMs: number, task: () => void): CancelTimer {
  if (clock !== systemClock && clock.after !== undefined) return clock.after(delayMs, task);
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
}

/**
 * Runs `task` at the end of this turn of the event loop, before any timer. Browsers have no such moment: there it runs when
 * the code that runs now has ended.
 */
export function atEndOfTurn(task: () => void): void {
  if (typeof setImmediate === "function") setImmediate(task);
  else queueMicrotask(task);
}

/** Returns `nowMs` in whole milliseconds, rounded down; throws if it is not a time that Sluice can count. */
export function toWholeMs(nowMs: number): number {
  if (typeof nowMs !== "number" || !(nowMs >= 0 && nowMs <= TIME_MS_MAX)) {
    throw new SluiceError("SLUICE_TIME_INVALID", `got ${show(nowMs)}`);
  }
  return Math.floor(nowMs);
}

/** The wall clock, in whole milliseconds since 1970; throws if it is not a time that Sluice can count. */
export function wallMsOf(clock: Clock): number {
  return toWholeMs(clock.wall === undefined ? clock.now() : clock.wall());
}

/** The time by which a limit is counted, in whole milliseconds: a quota's is that of the calendar. */
export function countedMsOf(clock: Clock, isQuota: boolean): number {
  return isQuota ? wallMsOf(clock) : toWholeMs(clock.now());
}

/** The time of a verb, for callers that don't want it read from the clock. */
export interface TimeOptions {
  /**
   * Milliseconds since 1970 by the clock of the limiter or policy; default: what that clock says. Fractions are rounded
   * down. In a policy, quotas go by the calendar regardless.
   */
  nowMs?: number | undefined;
}

/** The time that a caller passed, in whole milliseconds; undefined if there is none. */
export function timeOf(options: TimeOptions | undefined): number | undefined {
  if (options === undefined) return undefined;
  const { nowMs } = asGiven(options);
  return nowMs === undefined ? undefined : toWholeMs(nowMs);
}
