// Telemetry that says nothing and counts nothing: for tests, and for whoever embeds a door and listens in
// another way.

import { pino } from "pino";
import type { Telemetry } from "../telemetry/telemetry.js";

/** Drops everything it is told. Its metrics are empty. */
export function quietTelemetry(): Telemetry {
  const drop = () => {};
  return {
    log: pino({ level: "silent" }),
    decided: drop,
    tookMs: drop,
    refused: drop,
    policyEvent: drop,
    fallbackEvent: drop,
    hotKeyEvent: drop,
    reloaded: drop,
    measured: (store) => store,
    metrics: async () => "",
  };
}
