// Starts the primary of a service of several processes. It runs the store, the decision API and the admin port;
// workers run the gateway and Envoy's listener.

import { readFileSync } from "node:fs";
import type { Config } from "../config/config.js";
import { createCore } from "../core/create-core.js";
import type { OthersMaker } from "../service/other-processes.js";
import {
  openService,
  openWithControl,
  type Service,
  type ServiceOptions,
} from "../service/service.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import { newSecret } from "../telemetry/random.js";
import type { Fork } from "./fork.js";
import { Workers } from "./workers.js";

/**
 * Starts a service of several processes: the listeners of all workers are open when it resolves, or none.
 *
 * @throws If the rules are invalid, an address can't be listened on, or a worker can't start.
 */
export async function startPrimary(
  config: Config,
  options: ServiceOptions & { readonly fork?: Fork } = {},
): Promise<Service> {
  const keySecret = options.keySecret ?? newSecret().toString("base64");
  const telemetry = options.telemetry ?? createTelemetry(config.telemetry, { keySecret });
  const written = config.file === undefined ? undefined : readConfig(config.file);
  const { fork, onFailed } = options;
  const parts = { keySecret, written, fork, onFailed };
  return openWithControl(config, { ...options, telemetry }, (rules, control) => {
    const core = createCore(config, { ...options, telemetry, ...rules });
    const makeOthers: OthersMaker = (inForce) => new Workers(core, { ...parts, inForce, control });
    return openService(core, { ...options, control }, makeOthers);
  });
}

/** The text as it is now, so that workers that start later start with the same. */
function readConfig(file: string): { readonly file: string; readonly text: string } {
  return { file, text: readFileSync(file, "utf8") };
}
