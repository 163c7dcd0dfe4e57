// A circuit breaker for a backend, with options that are checked. The arithmetic is that of the breaker in front of
// stores: base/circuit-breaker.ts.

import { Breaker } from "../base/circuit-breaker.js";
import { type Clock, toClock } from "../base/clock.js";
import { anyFunction, readOptions } from "../base/shapes/code-options.js";
import { anything, object, optional, wholeNumber, withDefault } from "../base/shapes/shapes.js";

/** Options of {@link circuitBreaker}. */
export interface CircuitBreakerOptions {
  /** Failures in a row that open it, from 1 to 1,000,000; default 5. */
  failuresMax?: number;
  /** How long it stays open at first; default 1,000. Doubled by each test that fails, up to 10,000. */
  openMs?: number;
  /** Called when it opens, with the failure that opened it. */
  onOpen?: (failure: unknown) => void;
  /** Called when a test has shown that the backend is back. */
  onClose?: () => void;
  /** Default: monotonic time. */
  clock?: Clock;
}

/**
 * Stops asking a backend that keeps failing: `ask()` yields a ticket for one request, or `NO_TICKET` while it is open;
 * `succeed`, `fail` or `abandon` say what came of it.
 */
export type CircuitBreaker = Breaker;

const SITE = { name: "circuitBreaker", code: "SLUICE_OPTION_INVALID" } as const;
const DAY_MS = 86_400_000;

const OPTIONS = object({
  failuresMax: withDefault(wholeNumber({ min: 1, max: 1_000_000 }), 5),
  openMs: withDefault(wholeNumber({ min: 1, max: DAY_MS }), 1_000),
  onOpen: optional(anyFunction),
  onClose: optional(anyFunction),
  clock: optional(anything()),
} satisfies Record<keyof CircuitBreakerOptions, unknown>);

/**
 * Makes a circuit breaker. Make one for each backend.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` if an option can't be used.
 */
export function circuitBreaker(options: CircuitBreakerOptions = {}): CircuitBreaker {
  const given = readOptions(SITE, OPTIONS, options);
  return new Breaker({
    clock: toClock(SITE, given.clock),
    failuresMax: given.failuresMax,
    openMs: given.openMs,
    onOpen: (failure) => given.onOpen?.(failure),
    onClose: () => given.onClose?.(),
  });
}
