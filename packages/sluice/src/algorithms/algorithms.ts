// Which algorithm decides which limit: the only place where a limit's name meets its functions.

import { bucket } from "./bucket.js";
import { entries } from "./entries.js";
import { window } from "./fixed-window.js";
import type { Limit } from "./limit.js";
import { slidingCounter } from "./sliding-window-counter.js";
import type { Algorithm } from "./step.js";

const algorithms = {
  tokenBucket: bucket,
  leakyBucket: bucket,
  fixedWindow: window,
  quota: window,
  sketch: window,
  slidingWindowCounter: slidingCounter,
  slidingWindowLog: entries,
  concurrency: entries,
};

/** The pure functions that decide `limit`. What they keep as state is theirs alone. */
export function algorithmOf(limit: Limit): Algorithm<unknown, Limit> {
  return algorithms[limit.algorithm] as Algorithm<unknown, Limit>;
}
