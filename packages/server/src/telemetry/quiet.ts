// Telemetry that says nothing, for tests and for commands that only look: it counts as any other, and
// logs to nobody.

import { createTelemetry } from "./create.js";
import type { Telemetry } from "./telemetry.js";

/** Telemetry without a log. */
export function quietTelemetry(): Telemetry {
  return createTelemetry({
    logLevel: "silent",
    decisionLogShare: 0,
    region: "local",
    topKeysMax: 20,
  });
}
