// A whole configuration for tests, with nothing open but the admin port: each test says what it adds.

import type { Config } from "../src/config/config.js";

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
  limit: { fixedWindow: { limit: 10, windowMs: 60_000 } },
};
