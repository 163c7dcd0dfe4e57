// What the telemetry of a process may be given: where it writes, its secret, and its clocks.

import type { LogDestination } from "./log/pretty-log.js";
import type { TraceApi } from "./tracing.js";

/** What telemetry may be given instead of finding it. */
export interface TelemetryOptions {
  /** Where log lines go, as JSON. Default: standard output, and for people if that is a terminal. */
  readonly destination?: LogDestination;
  /**
   * What keys are hashed with, in logs and top lists. Default: a secret of this process. Processes of
   * one service are given the same one, so that a key has one hash.
   */
  readonly keySecret?: string | Buffer;
  /** Numbers from 0 to below 1, by which decisions are picked for the log. Default: random ones. */
  readonly chance?: () => number;
  /** A monotonic reading, in milliseconds. Default: the process's. */
  readonly readMs?: () => number;
  /** The wall clock, in milliseconds since 1970. Default: the system's. */
  readonly wallMs?: () => number;
  /** Whether metrics of the process and of Node are included. Default true. */
  readonly hasProcessMetrics?: boolean;
  /** Loads OpenTelemetry's API. Default: `@opentelemetry/api`, if it is installed. */
  readonly loadTraceApi?: () => Promise<TraceApi>;
}
