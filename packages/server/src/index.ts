/**
 * Sluice as a service, for whoever embeds it. Most people run the `sluice` command instead.
 *
 * @module
 */

export type { Config } from "./config/config.js";
export type { Core, OpenDoor } from "./service/core.js";
export { type Service, type ServiceOptions, startService } from "./service/service.js";
export type { Telemetry } from "./telemetry/telemetry.js";
