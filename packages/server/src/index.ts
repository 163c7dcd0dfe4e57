/**
 * Sluice as a service, for programs that embed it. Most people run the `sluice` command instead.
 *
 * @module
 */

export { ServerError, type ServerErrorCode, serverErrorCatalogue } from "./base/errors.js";
export type { Config } from "./config/config.js";
export { type ConfigOrigin, loadConfig, parseConfig, toConfig } from "./config/load.js";
export type { Core, Listener } from "./core/core.js";
export { type Service, type ServiceOptions, startService } from "./service/service.js";
export { createTelemetry } from "./telemetry/create-telemetry.js";
export type { Telemetry } from "./telemetry/telemetry.js";
export type { TelemetryOptions } from "./telemetry/telemetry-options.js";
export { type ProcessLike, type RunOptions, runService } from "./workers/run.js";
