// Telemetry without output, for tests and for commands that only check: it counts like any other and logs
// nothing.

import { createTelemetry } from "./create-telemetry.js";
import type { Telemetry } from "./telemetry.js";

/** Telemetry without a log, without the metrics of the process and without spans. */
export function silentTelemetry(): Telemetry {
  return createTelemetry(
    { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 20 },
    {
      hasProcessMetrics: false,
      loadTraceApi: () => Promise.reject(new Error("silent telemetry makes no spans")),
    },
  );
}
