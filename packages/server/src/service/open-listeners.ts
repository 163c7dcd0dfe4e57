// Which listeners a configuration opens. Each is loaded only where it is opened: a worker has no admin port, and few
// services speak Envoy's protocol.

import type { AdminControl } from "../admin/service-control.js";
import type { Config } from "../config/config.js";
import type { Core } from "../core/core.js";
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
  return async (core) => (await import("../admin/admin.js")).openAdmin(core, control);
}

async function openGateway(core: Core): ReturnType<ListenerOpener> {
  return (await import("../gateway/gateway.js")).openGateway(core);
}

async function openEnvoy(core: Core): ReturnType<ListenerOpener> {
  return (await import("../envoy/envoy.js")).openEnvoy(core);
}

async function openDecision(core: Core): ReturnType<ListenerOpener> {
  return (await import("../decision/decision.js")).openDecision(core);
}
