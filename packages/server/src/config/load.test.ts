import { createHmac } from "node:crypto";
import { hostname } from "node:os";
import type { HttpRequest } from "sluice/http";
import { describe, expect, it } from "vitest";
import { goodFile } from "../../test/config/bad-cases.js";
import { parseConfig, toConfig } from "./load.js";

describe("toConfig", () => {
  it("fills in every default", () => {
    const config = toConfig({
      gateway: { listen: "127.0.0.1:0" },
      upstreams: { app: { backends: ["http://127.0.0.1:3000"] } },
      routes: [{ path: "/*", upstream: "app" }],
      rules: { version: 1, rules: [] },
    });
    expect(config).toEqual({
      file: undefined,
      workers: 1,
      drainDelayMs: 0,
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
        healthPaths: ["/health", "/healthz", "/livez", "/readyz"],
        usagePath: undefined,
      },
      decision: undefined,
      envoy: undefined,
      admin: { listen: { host: "127.0.0.1", port: 9090 }, token: undefined, hosts: [] },
      upstreams: new Map([
        [
          "app",
          {
            name: "app",
            backends: ["http://127.0.0.1:3000"],
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
      store: { kind: "memory", onStoreFailure: "local", keysMax: 1_000_000 },
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

  it("leaves what it is given as it is", () => {
    const input = { decision: {}, rules: { version: 1, rules: [] }, admin: {} };
    const before = structuredClone(input);
    toConfig(input, {
      env: { SLUICE_ADMIN_TOKEN: "an-admin-token-of-16", SLUICE_STORE_KEYS_MAX: "5000" },
    });
    expect(input).toEqual(before);
  });

  it("needs no rules where Envoy alone asks", () => {
    const config = toConfig({ envoy: { files: ["."] } });
    expect(config.rules).toEqual({ inline: { version: 1, rules: [] } });
    expect(config.envoy).toMatchObject({
      listen: { host: "127.0.0.1", port: 8081 },
      http: undefined,
      mergeDomains: false,
      shadowMode: false,
      quotaMode: false,
      responseHeaders: undefined,
      requestHeaders: undefined,
      dynamicMetadata: false,
    });
  });

  it("takes what envoyproxy/ratelimit has in its environment, by file or by variable", () => {
    const responseHeaders = { limit: "X-Limit" };
    const config = toConfig(
      { envoy: { files: ["."], responseHeaders, requestHeaders: {}, quotaMode: true } },
      { env: { SLUICE_ENVOY_SHADOW_MODE: "true", SLUICE_ENVOY_MERGE_DOMAINS: "true" } },
    );
    const [remaining, reset] = ["RateLimit-Remaining", "RateLimit-Reset"];
    expect(config.envoy).toMatchObject({
      mergeDomains: true,
      shadowMode: true,
      quotaMode: true,
      responseHeaders: { limit: "X-Limit", remaining, reset },
      requestHeaders: { limit: "RateLimit-Limit", remaining, reset },
    });
  });
});

describe("a place to listen at", () => {
  it.each<[unknown, string, number]>([
    ["127.0.0.1:8080", "127.0.0.1", 8080],
    ["localhost:0", "localhost", 0],
    [":8080", "0.0.0.0", 8080],
    [8080, "0.0.0.0", 8080],
    ["8080", "0.0.0.0", 8080],
    ["[::1]:8080", "::1", 8080],
    ["[::]:65535", "::", 65_535],
    ["gateway.example.com:80", "gateway.example.com", 80],
  ])("%j is %s and port %i", (listen, host, port) => {
    const { gateway } = toConfig({
      gateway: { listen },
      upstreams: { app: { backends: ["http://127.0.0.1:3000/"] } },
      routes: [{ path: "/*", upstream: "app" }],
      rules: { version: 1, rules: [] },
    });
    expect(gateway?.listen).toEqual({ host, port });
  });

  it.each(["127.0.0.1:9090", "localhost:9090", "[::1]:9090", "127.9.9.9:9090"])(
    "%s is of this machine alone, and needs no token",
    (listen) => {
      expect(parseConfig(`${goodFile}admin: { listen: "${listen}" }`).admin.token).toBeUndefined();
    },
  );

  it.each(["0.0.0.0:9090", "[::]:9090", "10.0.0.1:9090", "127.example.com:9090", "[::2]:9090"])(
    "%s is of others too, and needs one",
    (listen) => {
      const text = `${goodFile}admin: { listen: "${listen}" }`;
      expect(() => parseConfig(text)).toThrow("admin.token is missing");
    },
  );
});

describe("listeners at port 0", () => {
  it("are at different ones, and no clash", () => {
    const text = goodFile.replace(":8080", ":0");
    const { admin, decision } = parseConfig(
      `${text}admin: { listen: "127.0.0.1:0" }\ndecision: { listen: "127.0.0.1:0" }`,
    );
    expect([admin.listen.port, decision?.listen.port]).toEqual([0, 0]);
  });
});

describe("a file", () => {
  it("may be JSON", () => {
    const input = {
      decision: { listen: ":8082", tokens: ["a-token-of-16-chars"] },
      rules: { version: 1, rules: [] },
    };
    expect(parseConfig(JSON.stringify(input, undefined, 2))).toEqual(toConfig(input));
  });

  it("may say the same thing once, by anchors and merge keys", () => {
    const text = goodFile.replace(
      /^ {2}app:.*$/m,
      `  app: &base { backends: ["http://127.0.0.1:3000"], retriesMax: 3 }
  other: { <<: *base, backends: ["http://127.0.0.1:4000"] }`,
    );
    const { upstreams } = parseConfig(text);
    expect(upstreams.get("other")).toMatchObject({
      backends: ["http://127.0.0.1:4000"],
      retriesMax: 3,
    });
  });

  it("may say durations with a unit", () => {
    const { drainMs } = parseConfig(`${goodFile}server: { drainMs: 5m }`);
    expect(drainMs).toBe(300_000);
  });

  it("may turn what has a path off", () => {
    const text = goodFile.replace('8080"', '8080", rateLimitPath: false');
    expect(parseConfig(text).gateway?.rateLimitPath).toBeUndefined();
  });
});

describe("identity", () => {
  const secret = "0123456789-0123456789-0123456789";
  const toToken = (claims: object, key: string) => {
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const body = `${encode({ alg: "HS256" })}.${encode(claims)}`;
    return `${body}.${createHmac("sha256", key).update(body).digest("base64url")}`;
  };
  const { identity } = parseConfig(`${goodFile}
identity:
  clientAddress: CF-Connecting-IP
  user: { claim: sub }
  tier: { header: X-Plan, trust: anyone }
  apiKey: {}
  jwt: { secret: "${secret}", algorithms: [HS256], audience: [shop], header: x-token }
  methodOverride: { header: X-HTTP-Method-Override }
`);

  it("becomes what the library takes", () => {
    expect(identity).toMatchObject({
      clientAddress: { header: "cf-connecting-ip" },
      user: { claim: "sub" },
      tier: { header: "x-plan", trust: "anyone" },
      apiKey: {},
      methodOverride: { header: "x-http-method-override", methods: ["PUT", "PATCH", "DELETE"] },
    });
    expect("tenant" in identity).toBe(false);
  });

  it.each([
    ["trusts a token with the secret, for the audience", { aud: "shop" }, secret, { sub: "42" }],
    ["trusts no token for another audience", { aud: "other" }, secret, undefined],
    [
      "trusts no token with another secret",
      { aud: "shop" },
      secret.toUpperCase().replaceAll("0", "9"),
      undefined,
    ],
  ])("%s", async (_what, claims, key, expected) => {
    const view = { headers: { "x-token": toToken({ ...claims, sub: "42" }, key) } };
    const found = await identity.jwt?.claimsOf(view as unknown as HttpRequest);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });
});

describe("ledger", () => {
  const rules = {
    version: 1,
    rules: [{ id: "exports", limit: { quota: { limit: 9, period: "day" } }, durable: true }],
  };
  const decision = { listen: "127.0.0.1:0" };
  const follower = { follow: "https://control.example.com", token: "a-token-of-16-letters" };
  const load = (given: object) =>
    toConfig({ decision, ...given }, { file: "/etc/sluice/sluice.yaml" });

  it("is in the database of the control plane unless it has its own", () => {
    expect(load({ rules, control: { database: "file:data/sluice.db" } }).ledger).toEqual({
      database: "file:/etc/sluice/data/sluice.db",
      reservationMs: 600_000,
      deliveriesKeptMs: 2_592_000_000,
      webhooks: [],
    });
    const ledger = { database: "file:ledger.db", reservationMs: "5m" };
    expect(load({ rules, ledger, control: follower }).ledger).toEqual({
      database: "file:/etc/sluice/ledger.db",
      reservationMs: 300_000,
      deliveriesKeptMs: 2_592_000_000,
      webhooks: [],
    });
    expect(load({ rules: { version: 1, rules: [] } }).ledger).toBeUndefined();
  });

  it("is needed by durable rules, whose error names the rule", () => {
    const message = 'rule "exports": durable needs a database to keep its quotas in';
    expect(() => load({ rules })).toThrow(message);
    expect(() => load({ rules, control: follower })).toThrow(message);
    expect(() => load({ rules, ledger: { reservationMs: "5m" } })).toThrow(message);
  });

  it("can't be elsewhere than what the API of a control node shows", () => {
    const given = { control: { database: "file:a.db" }, ledger: { database: "file:b.db" } };
    expect(() => load(given)).toThrow("ledger.database can't be set beside control.database");
  });
});

describe("control", () => {
  const minimal = (control: object) => toConfig({ control }, { file: "/etc/sluice/sluice.yaml" });

  it("of a control node needs no listener and no rules, and its paths are relative to the file", () => {
    expect(minimal({ database: "file:data/sluice.db" }).control).toEqual({
      kind: "database",
      database: "file:/etc/sluice/data/sluice.db",
      snapshotFile: "/etc/sluice/sluice-9090.snapshot",
      staleMsMax: undefined,
      node: `${hostname()}:9090`,
      hasRules: false,
    });
    expect(minimal({ database: "file:///var/lib/sluice.db" }).control).toMatchObject({
      database: "file:/var/lib/sluice.db",
    });
  });

  it("of a follower has an origin and a token", () => {
    const control = { follow: "https://Control.example.com:443/", token: "a-token-of-16-letters" };
    const rest = { snapshot: "/tmp/s", staleMsMax: "5m", node: "edge-1" };
    const config = toConfig({
      decision: { listen: "127.0.0.1:0" },
      control: { ...control, ...rest },
    });
    expect(config.control).toEqual({
      kind: "follow",
      url: "https://control.example.com",
      token: "a-token-of-16-letters",
      caFile: undefined,
      snapshotFile: "/tmp/s",
      staleMsMax: 300_000,
      node: "edge-1",
      hasRules: false,
    });
  });
});
