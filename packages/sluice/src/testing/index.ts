/**
 * What tests of rate limits need: a clock that only tests move.
 *
 * @module
 */

export { ManualClock } from "./manual-clock.js";
