// Whether a service should be sent requests. It says no while it starts and drains, and, where that is
// configured, when its store has been away for so long that local answers no longer make up for it.

import type { Clock } from "sluice";

/** How long a store may be away before readiness fails, where it may fail for that. */
export const STORE_AWAY_MS_MAX = 300_000;

/** What readiness looks at. */
export interface ReadinessOptions {
  readonly clock: Clock;
  /** Whether a store that is away makes it fail. */
  readonly failsWithStore: boolean;
  /** Since when the store has been away; undefined if it is not. */
  storeAwaySinceMs(): number | undefined;
}

/** Starts as not ready. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isOpen = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#isOpen && !this.#isStoreLost;
  }

  /** Doors are open. */
  open(): void {
    this.#isOpen = true;
  }

  /** Draining begins, or the service is closed. */
  shut(): void {
    this.#isOpen = false;
  }

  get #isStoreLost(): boolean {
    const { clock, failsWithStore, storeAwaySinceMs } = this.#options;
    const sinceMs = failsWithStore ? storeAwaySinceMs() : undefined;
    return sinceMs !== undefined && clock.now() - sinceMs >= STORE_AWAY_MS_MAX;
  }
}
