// Which listeners a configuration opens.

import { openAdmin } from "../admin/admin.js";
import type { AdminControl } from "../admin/service-control.js";
import type { Config } from "../config/config.js";
import { openDecision } from "../decision/decision.js";
import { openEnvoy } from "../envoy/envoy.js";
import { openGateway } from "../gateway/gateway.js";
import type { ListenerOpener } from "./listeners.js";

/** Listeners that several processes can open at one address: each request stands alone. */
export function sharedOpenersOf({ gateway, envoy }: Config): readonly ListenerOpener[] {
  return [
    ...(gateway === undefined ? [] : [openGateway]),
    ...(envoy === undefined ? [] : [openEnvoy]),
  ];
}

/** Listeners of which a service has one: what one request holds, another settles. */
export function singleOpenersOf({ decision }: Config): readonly ListenerOpener[] {
  return decision === undefined ? [] : [openDecision];
}

/** The admin port, which is always open. */
export function adminOpenerOf(control: AdminControl): ListenerOpener {
  return (core) => openAdmin(core, control);
}
