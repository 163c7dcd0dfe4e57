// The log of a process: JSON on standard output, or lines for people if that is a terminal.

import { type Logger, pino } from "pino";
import type { TelemetryConfig } from "../../config/config.js";
import { type LogDestination, prettyLog } from "./pretty-log.js";

/** A log of this level, with the region in each line. Default destination: standard output. */
export function createLog(
  { logLevel, region }: TelemetryConfig,
  destination: LogDestination | undefined,
): Logger {
  const setup = { level: logLevel, base: { region } };
  if (destination !== undefined) return pino(setup, destination);
  const { stdout, env } = process;
  if (stdout.isTTY !== true) return pino(setup);
  return pino(setup, prettyLog(stdout, { hasColour: !env.NO_COLOR }));
}
