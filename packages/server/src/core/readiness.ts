// Whether a service should get requests. It is not ready while it starts and drains and, if that is
// configured, when its store has been unavailable for too long for local answers to make up for it.

import type { Clock } from "sluice";
import type { OwnedCore } from "./create-core.js";

/** How long a store may be unavailable before readiness fails, where it may fail for that. */
export const STORE_AWAY_MS_MAX = 300_000;

/** What readiness looks at. */
export interface ReadinessOptions {
  readonly clock: Clock;
  /** Whether a store that is unavailable makes it fail. */
  readonly failsWithStore: boolean;
  /** Since when the store has been unavailable; undefined if it is not. */
  storeAwaySinceMs(): number | undefined;
  /** What is wrong with the store, that of the home region and the ledger now, each in one line. */
  storeProblems(): readonly string[];
}

/** Starts as not ready. */
export class Readiness {
  readonly #options: ReadinessOptions;
  #isOpen = false;
  #wasOpen = false;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.reasons.length === 0;
  }

  /** Why it is not ready, in words. */
  get reasons(): readonly string[] {
    return [
      ...(this.#isOpen ? [] : [this.#wasOpen ? "draining" : "starting"]),
      ...(this.#isStoreLost
        ? [`the store has been unreachable for ${STORE_AWAY_MS_MAX / 60_000} minutes`]
        : []),
    ];
  }

  /** What an operator should know, although requests are served. */
  get remarks(): readonly string[] {
    return this.#options.storeProblems();
  }

  /** Listeners are open. */
  open(): void {
    this.#isOpen = true;
    this.#wasOpen = true;
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

/** The readiness of a service with this core. */
export function readinessOf(core: OwnedCore): Readiness {
  const { store } = core.config;
  return new Readiness({
    clock: core.clock,
    failsWithStore: store.kind === "redis" && store.failReadiness,
    storeAwaySinceMs: () => core.storeAwaySinceMs(),
    storeProblems: () => {
      const problems = [
        core.storeReach.problem(),
        core.homeReach?.problem(),
        core.ledgerReach?.problem(),
      ];
      return problems.filter((problem) => problem !== undefined);
    },
  });
}
