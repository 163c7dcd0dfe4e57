import { describe, expect, it } from "vitest";
import { toConfig } from "./load.js";

describe("toConfig", () => {
  it("fills in every default", () => {
    const config = toConfig({
      gateway: { listen: "127.0.0.1:0" },
      upstreams: { app: { targets: ["http://127.0.0.1:3000"] } },
      routes: [{ path: "/*", upstream: "app" }],
      rules: { version: 1, rules: [] },
    });
    expect(config).toEqual({
      file: undefined,
      workers: 1,
      drainMs: 10_000,
      gateway: {
        listen: { host: "127.0.0.1", port: 0 },
        tls: undefined,
        headerBytesMax: 16_384,
        headersMax: 200,
        bodyBytesMax: 10_485_760,
        headersTimeoutMs: 10_000,
        requestTimeoutMs: 60_000,
        keepAliveMs: 65_000,
        connectionsMax: 20_000,
        rateLimitPath: "/rate_limit",
      },
      decision: undefined,
      envoy: undefined,
      admin: { listen: { host: "127.0.0.1", port: 9090 }, token: undefined },
      upstreams: new Map([
        [
          "app",
          {
            name: "app",
            targets: ["http://127.0.0.1:3000"],
            balance: "round-robin",
            connectTimeoutMs: 2_000,
            responseTimeoutMs: 30_000,
            idleTimeoutMs: 60_000,
            retriesMax: 1,
            failuresMax: 5,
            ejectMs: 10_000,
            connectionsMax: 256,
            waitingMax: 1_024,
          },
        ],
      ]),
      routes: [{ path: "/*", host: undefined, upstream: "app", preserveHost: true }],
      store: { kind: "memory", keysMax: 1_000_000 },
      identity: {
        clientAddress: "x-forwarded-for",
        forwardedHost: false,
        bodyBytesMax: 16_384,
        bodyMsMax: 5_000,
        attributes: {},
      },
      responses: {
        headers: "draft-11",
        legacyHeaders: true,
        body: "problem",
        retryAfterJitterMs: 0,
        delayedMax: 1_000,
      },
      rules: { inline: { version: 1, rules: [] } },
      telemetry: { logLevel: "info", decisionLogShare: 0.001, region: "local", topKeysMax: 20 },
    });
  });
});
