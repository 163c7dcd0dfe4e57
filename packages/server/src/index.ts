/**
 * Sluice as a service, for whoever embeds it. Most people run the `sluice` command instead.
 *
 * @module
 */

export type { Config } from "./config/config.js";
export { type ConfigOrigin, loadConfig, parseConfig, toConfig } from "./config/load.js";
export type { Core, OpenDoor } from "./core.js";
export { ServerError, type ServerErrorCode, serverErrorCatalogue } from "./errors.js";
export { type ProcessLike, type RunOptions, runService } from "./service/run.js";
export { type Service, type ServiceOptions, startService } from "./service/service.js";
export { createTelemetry, type TelemetryOptions } from "./telemetry/create.js";
export type { Telemetry } from "./telemetry/telemetry.js";
