/**
 * What tests of rate limits need: a clock that only tests move, the answers that every algorithm
 * has to give, and the promises that every store has to keep.
 *
 * @module
 */

export { ManualClock } from "./manual-clock.js";
export { type StepCase, type StepRow, stepCases } from "./step-tables.js";
export {
  type ConformanceCase,
  type StoreConformanceOptions,
  storeConformance,
} from "./store-conformance.js";
