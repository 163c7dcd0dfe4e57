import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseRules } from "sluice/rules";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { toConfigSchema } from "./description/schema.js";
import { loadConfig } from "./load.js";

const file = join(import.meta.dirname, "../../../../examples/service/sluice.yaml");
const env = {
  REDIS_URL: "redis://user:secret@127.0.0.1:6390/1",
  DECISION_TOKEN: "decision-token-of-a-test",
  SLUICE_ADMIN_TOKEN: "admin-token-of-a-test",
  KEY_SECRET: "key-secret-of-a-test",
  JWT_SECRET: "a jwt secret of more than 32 bytes".replaceAll(" ", "-"),
};

describe("examples/service/sluice.yaml", () => {
  it("loads, with its secrets from the environment", () => {
    const config = loadConfig(file, env);
    expect(config).toMatchObject({
      file,
      workers: 2,
      drainDelayMs: 0,
      drainMs: 20_000,
      gateway: { listen: { host: "0.0.0.0", port: 8080 }, requestTimeoutMs: 120_000 },
      decision: { tokens: [env.DECISION_TOKEN], listen: { host: "0.0.0.0", port: 8082 } },
      admin: { listen: { host: "0.0.0.0", port: 9090 }, token: env.SLUICE_ADMIN_TOKEN },
      routes: [
        { path: "/api/*", host: "api.example.com", upstream: "api", preserveHost: true },
        { path: "/*", host: undefined, upstream: "pages", preserveHost: false },
      ],
      store: {
        kind: "redis",
        url: env.REDIS_URL,
        keyPrefix: "shop",
        timeoutMs: 50,
        onStoreFailure: "local",
        failReadiness: false,
        keySecret: env.KEY_SECRET,
      },
      identity: {
        trustedProxies: ["10.0.0.0/8", "loopback"],
        user: { claim: "sub" },
        tenant: { claim: "org.id" },
        tier: { header: "x-plan" },
        attributes: { country: { header: "x-country" } },
        apiKey: { header: "x-api-key" },
        keySecret: env.KEY_SECRET,
      },
      responses: { legacyHeaders: "delta", retryAfterJitterMs: 500 },
      rules: { file: join(file, "../rules.yaml") },
      telemetry: { region: "local" },
    });
    expect(config.upstreams.get("api")?.backends).toEqual([
      "http://127.0.0.1:3000",
      "http://127.0.0.1:3001",
    ]);
    expect(typeof config.identity.jwt?.claimsOf).toBe("function");
  });

  it("names rules that parse", () => {
    const text = readFileSync(join(file, "../rules.yaml"), "utf8");
    expect(parseRules(text).rules.map(({ id }) => id)).toEqual([
      "address",
      "api",
      "tenant-month",
      "partner",
    ]);
  });

  it("is what the JSON Schema takes", () => {
    const validate = new Ajv2020({ strict: true, strictRequired: false, allErrors: true }).compile(
      toConfigSchema(),
    );
    validate(parse(readFileSync(file, "utf8")));
    expect(validate.errors).toBeNull();
  });
});
