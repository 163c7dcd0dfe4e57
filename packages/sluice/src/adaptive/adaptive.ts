/**
 * Limits that adapt to the backend: a limit of concurrent requests that falls when the backend is slow or fails and
 * rises when it recovers, priorities for what is shed first, and a circuit breaker.
 *
 * @module
 */

export { type BreakerState, NO_TICKET } from "../base/circuit-breaker.js";
export {
  type AcquireOptions,
  type AdaptiveConcurrency,
  type AdaptivePermit,
  type AdaptiveStats,
  adaptiveConcurrency,
  type PermitOutcome,
} from "./adaptive-concurrency.js";
export { type AdaptiveOptions, LIMIT_MAX, WINDOW_BOUNDS } from "./adaptive-options.js";
export {
  type CircuitBreaker,
  type CircuitBreakerOptions,
  circuitBreaker,
} from "./circuit-breaker.js";
export { ALGORITHMS } from "./limit-state.js";
export type { AdaptiveAlgorithm } from "./limit-step.js";
export {
  DEFAULT_SHARES,
  isPriority,
  PRIORITIES,
  type Priority,
  type PriorityShares,
} from "./priority.js";
