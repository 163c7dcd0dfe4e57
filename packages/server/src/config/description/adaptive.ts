// The description of limits that adapt to the backend, and of the circuit breaker of an upstream.

import { ALGORITHMS, LIMIT_MAX, WINDOW_BOUNDS } from "sluice/adaptive";
import { optional, section, withDefault } from "./fields.js";
import { duration, fraction, oneOf, whole } from "./shapes.js";

const limit = whole({ min: 1, max: LIMIT_MAX });
const share = fraction({ min: 0.01, max: 1 });

/** A limit of concurrent requests that adapts. */
export const adaptiveSection = section({
  algorithm: withDefault(oneOf(ALGORITHMS), "gradient", "How the limit moves."),
  min: withDefault(limit, 1, "The lowest limit, in each process."),
  max: withDefault(limit, 1_000, "The highest limit, in each process."),
  initial: optional(
    limit,
    "The limit at the start; if omitted 20, or the nearer of min and max if that is outside of them.",
  ),
  windowMs: withDefault(
    duration(WINDOW_BOUNDS),
    100,
    "How long requests are observed before the limit moves; a window is never shorter than twice the latency.",
  ),
  shares: withDefault(
    section({
      high: withDefault(
        share,
        0.9,
        "The share of the limit that requests fill before high ones are shed.",
      ),
      normal: withDefault(share, 0.8, "The same for normal ones."),
      low: withDefault(share, 0.5, "The same for low ones."),
    }),
    {},
    "What is shed first.",
  ),
});

/** A circuit breaker. */
export const breakerSection = section({
  failuresMax: withDefault(
    whole({ min: 1, max: 1_000_000 }),
    10,
    "Failures in a row that open it: no response, or one with status 502, 503 or 504.",
  ),
  openMs: withDefault(
    duration({ min: 1, max: 3_600_000 }),
    1_000,
    "How long it stays open at first; doubled by each test that fails, up to 10 seconds.",
  ),
});
