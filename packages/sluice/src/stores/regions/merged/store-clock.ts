// The clock of a store, as seen from this process. Windows run by the clocks of the stores, which may differ by a
// minute between regions, so each exchange reads the one of the store that it is with.

import { fixedWindow } from "../../../limits/limits.js";
import type { Charge, Counter, CounterStatus } from "../../store.js";

const DAY_MS = 86_400_000;
/** The counter by whose windows a clock is read: how much of the day is left. */
const CLOCK: Counter = {
  scope: "sluice.clock",
  part: 0,
  limit: fixedWindow({ limit: DAY_MS, windowMs: DAY_MS }),
};

/** A charge whose status says what time it is. It costs a unit, because an unused window does not say when it ends. */
export function clockCharge(region: string, nowMs: number): Charge {
  return { counter: CLOCK, key: `region:${region}`, cost: 1, nowMs };
}

/** How far a store's clock is ahead of ours, and how far away the store is. */
export class StoreClock {
  #aheadMs = 0;
  #roundTripMs = 0;
  #isKnown = false;

  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** How long the latest call took. */
  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  /** What the store's clock says when ours says that. */
  at(nowMs: number): number {
    return nowMs + this.#aheadMs;
  }

  /** Learns from the status of a {@link clockCharge}: it is right to half of the time that the call took. */
  learn({ resetMs }: CounterStatus, sentAtMs: number, answeredAtMs: number): void {
    this.#roundTripMs = Math.max(0, answeredAtMs - sentAtMs);
    const middleMs = sentAtMs + this.#roundTripMs / 2;
    const ahead = modulo(-resetMs - middleMs, DAY_MS);
    this.#aheadMs = Math.round(ahead > DAY_MS / 2 ? ahead - DAY_MS : ahead);
    this.#isKnown = true;
  }
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
