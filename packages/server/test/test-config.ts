// A whole configuration for tests, with nothing open but the admin port: each test says what it adds.

import type { Config, GatewayConfig, RouteConfig, UpstreamConfig } from "../src/config/config.js";
import { toConfig } from "../src/config/load.js";

const LOOPBACK = { host: "127.0.0.1", port: 0 };

/** One rule, 10 requests a minute for each address; other values as a file without them has. */
export function toTestConfig(changes: Partial<Config> = {}): Config {
  return {
    file: undefined,
    workers: 1,
    drainDelayMs: 0,
    drainMs: 10_000,
    gateway: undefined,
    decision: undefined,
    envoy: undefined,
    admin: { listen: LOOPBACK, token: undefined },
    upstreams: new Map(),
    routes: [],
    store: { kind: "memory", onStoreFailure: "local", keysMax: 10_000 },
    identity: {},
    responses: {},
    rules: { inline: { version: 1, rules: [TEN_A_MINUTE] } },
    telemetry: { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 20 },
    ...changes,
  };
}

const TEN_A_MINUTE = {
  id: "per-address",
  key: "ip",
  limit: { fixedWindow: { limit: 10, windowMs: 60_000, align: "first" } },
};

/** A configuration with a gateway, its upstream and one route, and all defaults. */
const WITH_GATEWAY = toConfig({
  gateway: { listen: "127.0.0.1:0" },
  upstreams: { app: { backends: ["http://127.0.0.1:3000"] } },
  routes: [{ path: "/*", upstream: "app" }],
  rules: { version: 1, rules: [] },
});

/** A gateway on loopback, with all defaults. */
export const GATEWAY = WITH_GATEWAY.gateway as GatewayConfig;

/** Leads all requests to the upstream `app`. */
export const ROUTES: readonly RouteConfig[] = WITH_GATEWAY.routes;

/** The upstream `app`, with defaults for all that is not given. */
export function toUpstream(
  backends: readonly string[],
  changes: Partial<UpstreamConfig> = {},
): UpstreamConfig {
  return { ...(WITH_GATEWAY.upstreams.get("app") as UpstreamConfig), backends, ...changes };
}
