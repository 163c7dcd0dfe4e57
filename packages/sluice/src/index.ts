/**
 * Sluice decides, for every request: now, later or no.
 *
 * @module
 */

export type { CalendarPeriod } from "./algorithms/calendar.js";
export { BoundedMap } from "./base/bounded-map.js";
export type { BreakerState } from "./base/circuit-breaker.js";
export { type Clock, systemClock, type TimeOptions } from "./base/clock.js";
export type { Decision, DecisionSource, Verdict } from "./base/decision.js";
export {
  errorCatalogue,
  SluiceError,
  type SluiceErrorCode,
  type SluiceWarningCode,
  warningCatalogue,
} from "./base/errors.js";
export type { MaybePromise } from "./base/maybe-promise.js";
export { createLimiter } from "./limiter/limiter.js";
export type { EscalationEvent, LimiterOptions } from "./limiter/limiter-options.js";
export type { Limiter } from "./limiter/limiter-verbs.js";
export type { PeekRequest, RequestOptions } from "./limiter/request-options.js";
export type { MaybeSync, Permit, Reservation } from "./limiter/reservation.js";
export type { WaitOptions, WaitSignal } from "./limiter/wait.js";
export {
  type ConcurrencyLimit,
  type ConcurrencyOptions,
  concurrency,
  type FixedWindowLimit,
  type FixedWindowOptions,
  fixedWindow,
  type LeakyBucketLimit,
  type LeakyBucketOptions,
  type Limit,
  leakyBucket,
  type QuotaLimit,
  type QuotaOptions,
  type QuotaPeriod,
  quota,
  quotaPeriod,
  type SketchLimit,
  type SlidingWindowCounterLimit,
  type SlidingWindowLogLimit,
  slidingWindowCounter,
  slidingWindowLog,
  type TokenBucketLimit,
  type TokenBucketOptions,
  tokenBucket,
  type WindowOptions,
} from "./limits/limits.js";
export type { LimitOrRate, Rate } from "./limits/rate.js";
export { type SketchOptions, sketch } from "./limits/sketch.js";
export {
  type DenyCacheOptions,
  type DenyCacheStats,
  type DenyCacheStore,
  denyCache,
} from "./stores/deny-cache/deny-cache.js";
export type {
  Deposit,
  DepositAnswer,
  DepositAsk,
  DepositDemand,
  DepositPart,
  DepositPlace,
  DepositStore,
  Withdrawal,
} from "./stores/deposit-store.js";
export type { EscalateOptions } from "./stores/escalation/escalate-shape.js";
export {
  type EventualOptions,
  type EventualStats,
  type EventualStore,
  eventual,
} from "./stores/eventual/eventual.js";
export type { FenceReading, FenceStore, FenceSwap } from "./stores/fence-store.js";
export { ForwardingStore } from "./stores/forwarding-store.js";
export {
  type HotKey,
  type HotKeyEvent,
  type HotKeysOptions,
  type HotKeysStats,
  type HotKeysStore,
  hotKeys,
} from "./stores/hot-keys/hot-keys.js";
export type { LeasedOptions } from "./stores/leased/lease-options.js";
export { type LeasedStore, leased } from "./stores/leased/leased.js";
export type { LeasedStats } from "./stores/leased/leases/leased-stats.js";
export type { MemoryStoreOptions } from "./stores/memory/memory-options.js";
export type { MemoryStoreStats } from "./stores/memory/memory-stats.js";
export { type MemoryStore, memoryStore } from "./stores/memory/memory-store.js";
export type { SketchFigures } from "./stores/memory/sketch/sketch-counts.js";
export type { SketchName, SketchStats } from "./stores/memory/sketch/sketches.js";
export type { AdmissionMeter, AdmissionSource } from "./stores/metered.js";
export { type PrelimitOptions, type PrelimitStore, prelimit } from "./stores/prelimit/prelimit.js";
export type { RecordAnswer, RecordChange, RecordStore } from "./stores/record-store.js";
export type { Escalated, RefusalReport } from "./stores/refusal-reports.js";
export type { FallbackEvent } from "./stores/resilient/fallback/fallback-events.js";
export {
  type ResilientStats,
  type ResilientStore,
  resilient,
} from "./stores/resilient/resilient.js";
export type { ResilientOptions } from "./stores/resilient/resilient-options.js";
export { type ShardedOptions, type ShardedStore, sharded } from "./stores/sharded/sharded.js";
export type {
  Charge,
  ChargeReceipt,
  Counter,
  CounterStatus,
  DecideOptions,
  DurableOptions,
  FailurePolicy,
  HoldMode,
  Outcome,
  PeekOptions,
  RefundedUnits,
  Settling,
  Store,
  SyncStore,
} from "./stores/store.js";
