// What this process knows of one key that regions merge: the units that it admitted in each window, which only grow but
// for refunds, and for each other region what that region's store has counted of them.

import { NO_PLACE } from "../../../base/linked-list.js";
import type { Counter } from "../../store.js";
import { hasWindows, windowEndMs, windowMsOf } from "./merge-windows.js";
import { newRegister, type Register } from "./register.js";

/** The most windows of a key that wait for a region whose clock is behind; of older ones nothing is sent any more. */
const WINDOWS_MAX = 64;
/** The factor that lowers the demand at each measurement while requests are refused. */
const REFUSED_DECAY = 0.999;
/** The end of the one window of a limit without windows. */
const NO_END = Number.POSITIVE_INFINITY;

/** Units admitted in a window, by the clock of the own region's store. */
export interface AdmittedUnits {
  readonly endMs: number;
  units: number;
}

/** One key as this process sees it. */
export class MergedKey {
  readonly counter: Counter;
  readonly key: string;
  /** Where other regions count what this process admitted. */
  readonly register: Counter;
  readonly registers: readonly Register[];
  readonly hasWindows: boolean;
  /** Its place in the list of all keys. */
  place: number = NO_PLACE;
  isActive = false;
  /** When something was last asked or sent, by our clock. */
  usedAtMs = 0;
  /** What was left when it was decided last, and in which window. */
  roomUnits: number;
  roomEndMs = Number.NaN;
  /** Units asked for, admitted or not, smoothed. */
  demandPerMs = 0;
  #askedUnits = 0;
  /** Whether something was refused since the last measurement. */
  #isRefused = false;
  #sampledAtMs = 0;
  /** The oldest first. */
  readonly #windows: AdmittedUnits[] = [];
  /** Admitted before the store's clock was known. */
  #unplacedUnits = 0;

  constructor(counter: Counter, key: string, register: Counter, peers: number) {
    this.counter = counter;
    this.key = key;
    this.register = register;
    this.roomUnits = counter.limit.capacity;
    this.hasWindows = hasWindows(counter.limit);
    this.registers = Array.from({ length: peers }, newRegister);
  }

  get isIdle(): boolean {
    return this.#askedUnits === 0;
  }

  /** Measures from now on, after a time without requests. */
  start(nowMs: number): void {
    this.isActive = true;
    this.demandPerMs = 0;
    this.#sampledAtMs = nowMs;
  }

  /** A caller asked for units, and may have been refused. */
  ask(units: number, nowMs: number, isAdmitted: boolean): void {
    this.#askedUnits += units;
    if (!isAdmitted) this.#isRefused = true;
    this.usedAtMs = nowMs;
  }

  /** Adds admitted units to a window; below zero they were refunded. `storeMs` is undefined while that clock is unknown. */
  add(units: number, storeMs: number | undefined): void {
    if (storeMs === undefined) this.#unplacedUnits += units;
    else this.addTo(this.endMsAt(storeMs), units);
  }

  /** Adds units to the window that ends then; nothing if it is long over. */
  addTo(endMs: number, units: number): void {
    const known = this.#windows.find((window) => window.endMs === endMs);
    if (known !== undefined) {
      known.units = Math.max(0, known.units + units);
      return;
    }
    if (units <= 0 || endMs < (this.#windows.at(-1)?.endMs ?? 0)) return;
    this.#windows.push({ endMs, units });
    if (this.#windows.length > WINDOWS_MAX) this.#windows.shift();
  }

  /** The units admitted in the window that ends then. */
  unitsIn(endMs: number): number {
    return this.#windows.find((window) => window.endMs === endMs)?.units ?? 0;
  }

  /** The end of the window at a time of a store's clock. */
  endMsAt(storeMs: number): number {
    return this.hasWindows ? windowEndMs(this.counter.limit, this.key, storeMs) : NO_END;
  }

  /** Measures how much is asked for, and places what could not be placed. */
  sample(nowMs: number, storeMs: number): void {
    if (this.#unplacedUnits > 0) {
      this.addTo(this.endMsAt(storeMs), this.#unplacedUnits);
      this.#unplacedUnits = 0;
    }
    const passedMs = nowMs - this.#sampledAtMs;
    if (!(passedMs > 0)) return;
    const perMs = this.#askedUnits / passedMs;
    // Where something was refused, more would be asked for if it could be: refusals are remembered in front of us.
    this.demandPerMs = this.#isRefused
      ? Math.max(perMs, this.demandPerMs * REFUSED_DECAY)
      : (this.demandPerMs + perMs) / 2;
    this.#askedUnits = 0;
    this.#isRefused = false;
    this.#sampledAtMs = nowMs;
  }

  /** Lets go of windows that ended before then. Returns whether none is left. */
  dropBefore(storeMs: number): boolean {
    while (this.#windows.length > 0 && this.#windows[0].endMs <= storeMs) this.#windows.shift();
    return this.#windows.length === 0;
  }

  /** Whether a window has not begun in a region whose clock says that. */
  hasLater(storeMs: number): boolean {
    const latest = this.#windows.at(-1);
    return this.hasWindows && latest !== undefined && latest.endMs > this.endMsAt(storeMs);
  }

  /** How long it is until a window begins, by a store's clock; 0 if it has begun. */
  untilMs(endMs: number, storeMs: number): number {
    return Math.max(0, endMs - windowMsOf(this.counter.limit, endMs) - storeMs);
  }
}
