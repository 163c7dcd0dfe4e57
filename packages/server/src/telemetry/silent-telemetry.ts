// Telemetry that says nothing, for tests and for commands that only look: it counts as any other, and
// logs to nobody.

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
