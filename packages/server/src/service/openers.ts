// Which doors a configuration opens.

import type { Config } from "../config/config.js";
import type { DoorOpener } from "./doors.js";
import type { Service } from "./service.js";

/** The doors that are configured, those that serve requests first. */
export function openersOf(config: Config, service: Service): readonly DoorOpener[] {
  return [...servingOpenersOf(config), ...adminOpenersOf(config, service)];
}

/** The doors that decide requests: in multi-process mode those of the workers. */
export function servingOpenersOf(_config: Config): readonly DoorOpener[] {
  return [];
}

/** The admin port. */
export function adminOpenersOf(_config: Config, _service: Service): readonly DoorOpener[] {
  return [];
}
