import { describe, expect, it } from "vitest";
import { ConfigError, toConfig } from "../load.js";
import { listVariables, toVariable } from "./variable-names.js";

const input = {
  gateway: { listen: "127.0.0.1:0", headersMax: 50 },
  upstreams: { "my-app": { backends: ["http://127.0.0.1:3000"] } },
  routes: [{ path: "/*", upstream: "my-app" }],
  rules: { version: 1, rules: [] },
};
const read = (env: NodeJS.ProcessEnv) => toConfig(input, { env });

function messageOf(env: NodeJS.ProcessEnv): string {
  try {
    read(env);
    return "";
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.replace("the configuration can't be used: ", "");
  }
}

describe("a variable of the environment", () => {
  it("is named SLUICE_ and the way to its value, in capitals, with _ between words", () => {
    expect(toVariable(["gateway", "headerBytesMax"])).toBe("SLUICE_GATEWAY_HEADER_BYTES_MAX");
    expect(toVariable(["upstreams", "my-app", "backends"])).toBe(
      "SLUICE_UPSTREAMS_MY_APP_BACKENDS",
    );
    expect(toVariable(["responses", "retryAfterJitterMs"])).toBe(
      "SLUICE_RESPONSES_RETRY_AFTER_JITTER_MS",
    );
  });

  it("overrides what the file says, and adds what it does not", () => {
    const config = read({
      SLUICE_GATEWAY_HEADERS_MAX: "60",
      SLUICE_SERVER_WORKERS: "4",
      SLUICE_SERVER_DRAIN_MS: "5s",
      SLUICE_DECISION_LISTEN: "8082",
      SLUICE_DECISION_TOKENS: "a-first-token-of-16, a-second-token-of-16",
      SLUICE_DECISION_FORWARD_AUTH: "false",
      SLUICE_ADMIN_TOKEN: "an-admin-token-of-16",
      SLUICE_TELEMETRY_DECISION_LOG_SHARE: "0.5",
      SLUICE_IDENTITY_TRUSTED_PROXIES: "10.0.0.0/8,loopback",
      SLUICE_IDENTITY_TIER_HEADER: "X-Plan",
      SLUICE_IDENTITY_ATTRIBUTES_COUNTRY_HEADER: "x-country",
      SLUICE_STORE_KIND: "redis",
      SLUICE_STORE_URL: "redis://:secret@127.0.0.1:6379",
      SLUICE_STORE_ON_STORE_FAILURE: "closed",
    });
    expect(config).toMatchObject({
      workers: 4,
      drainMs: 5_000,
      gateway: { headersMax: 60, listen: { port: 0 } },
      decision: {
        listen: { host: "0.0.0.0", port: 8082 },
        tokens: ["a-first-token-of-16", "a-second-token-of-16"],
        forwardAuth: false,
      },
      admin: { token: "an-admin-token-of-16" },
      telemetry: { decisionLogShare: 0.5 },
      identity: {
        trustedProxies: ["10.0.0.0/8", "loopback"],
        tier: { header: "x-plan" },
        attributes: { country: { header: "x-country" } },
      },
      store: {
        kind: "redis",
        url: "redis://:secret@127.0.0.1:6379",
        onStoreFailure: "closed",
      },
    });
  });

  it("finds an upstream by its name, and makes one that is not there", () => {
    const { upstreams } = read({
      SLUICE_UPSTREAMS_MY_APP_BACKENDS: "http://127.0.0.1:4000,http://127.0.0.1:4001",
      SLUICE_UPSTREAMS_MY_APP_CONNECT_TIMEOUT_MS: "1s",
      SLUICE_UPSTREAMS_OTHER_ONE_BACKENDS: "http://127.0.0.1:5000",
    });
    expect([...upstreams.keys()]).toEqual(["my-app", "other_one"]);
    expect(upstreams.get("my-app")).toMatchObject({
      backends: ["http://127.0.0.1:4000", "http://127.0.0.1:4001"],
      connectTimeoutMs: 1_000,
    });
  });

  it("needs no setting of its name if the file refers to it", () => {
    const telemetry = { region: "\u0024{SLUICE_PLACE}" };
    const env = { SLUICE_PLACE: "eu" };
    expect(toConfig({ ...input, telemetry }, { env }).telemetry.region).toBe("eu");
  });

  it("can be all that there is", () => {
    const config = toConfig(
      {},
      {
        env: {
          SLUICE_GATEWAY_LISTEN: "127.0.0.1:0",
          SLUICE_UPSTREAMS_APP_BACKENDS: "http://127.0.0.1:3000",
          SLUICE_ROUTES: '[{"path":"/*","upstream":"app"}]',
          SLUICE_RULES: "{ version: 1, rules: [{ id: a, limit: 5/minute }] }",
        },
      },
    );
    expect(config.routes).toMatchObject([{ path: "/*", upstream: "app" }]);
    expect(config.rules).toEqual({
      inline: { version: 1, rules: [{ id: "a", limit: "5/minute" }] },
    });
  });

  it("that names a file of rules takes the place of rules in the configuration", () => {
    expect(messageOf({ SLUICE_RULES_FILE: "nowhere.yaml" })).toMatch(
      /^SLUICE_RULES_FILE: rules.file ".*nowhere.yaml" was not found; .*sluice init/,
    );
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    [
      "that names nothing",
      { SLUICE_NOTHING: "1" },
      "the variable SLUICE_NOTHING does not match any setting",
    ],
    [
      "that is misspelt",
      { SLUICE_GATEWAY_HEADER_MAX: "1" },
      "the variable SLUICE_GATEWAY_HEADER_MAX does not match any setting; did you mean SLUICE_GATEWAY_HEADERS_MAX?",
    ],
    [
      "of an upstream that is misspelt",
      { SLUICE_UPSTREAMS_MY_APP_BACKEND: "1" },
      "the variable SLUICE_UPSTREAMS_MY_APP_BACKEND does not match any setting; did you mean SLUICE_UPSTREAMS_MY_APP_BACKENDS?",
    ],
    [
      "of a whole section",
      { SLUICE_GATEWAY: "{}" },
      "the variable SLUICE_GATEWAY does not match any setting",
    ],
    [
      "that could be of Kubernetes, but is a port",
      { SLUICE_GATEWAY_PORT: "8080" },
      "the variable SLUICE_GATEWAY_PORT does not match any setting",
    ],
    [
      "that is no value",
      { SLUICE_SERVER_WORKERS: "ten" },
      'SLUICE_SERVER_WORKERS: server.workers must be a whole number from 1 to 256, got "ten"',
    ],
    [
      "that is empty",
      { SLUICE_ADMIN_TOKEN: "" },
      "SLUICE_ADMIN_TOKEN: admin.token must be a string of 16 to 512 characters without spaces, got a string of 0 characters",
    ],
    [
      "that is the access token of an operator",
      { SLUICE_ADMIN_TOKEN: `slt_${"a".repeat(12)}_${"b".repeat(32)}_cccccc` },
      "SLUICE_ADMIN_TOKEN: admin.token must not be an access token of a control plane (slt_…): its holder would be admin, and it could not be revoked. Unset SLUICE_ADMIN_TOKEN in the environment that starts the service, or set a secret of its own",
    ],
    [
      "with a bad entry in its list",
      { SLUICE_UPSTREAMS_MY_APP_BACKENDS: "http://127.0.0.1, b" },
      'SLUICE_UPSTREAMS_MY_APP_BACKENDS: upstreams.my-app.backends[1] must be an address such as http://127.0.0.1:3000 or https://api.example.com, without a path, got "b"',
    ],
    [
      "that says again what another says",
      { SLUICE_RULES: "{ version: 1, rules: [] }", SLUICE_RULES_FILE: "rules.yaml" },
      "the variable SLUICE_RULES_FILE can't be used together with SLUICE_RULES",
    ],
    [
      "that should be YAML",
      { SLUICE_ROUTES: "[{" },
      "the variable SLUICE_ROUTES must be YAML or JSON",
    ],
  ])("%s is an error that says so", (_what, env, message) => {
    expect(messageOf(env)).toBe(message);
  });

  it("that two entries of the file could be meant by is an error that names them", () => {
    const upstreams = { ...input.upstreams, my_app: { backends: ["http://127.0.0.1:1"] } };
    const env = { SLUICE_UPSTREAMS_MY_APP_BACKENDS: "http://127.0.0.1:4000" };
    expect(() => toConfig({ ...input, upstreams }, { env })).toThrow(
      "the variable SLUICE_UPSTREAMS_MY_APP_BACKENDS could mean upstreams.my-app or upstreams.my_app",
    );
  });

  it("of the command, or of Kubernetes for a service called sluice, is not a value", () => {
    expect(
      messageOf({
        SLUICE_CONFIG: "sluice.yaml",
        SLUICE_VERSION: "0.1.0",
        SLUICE_ADMIN: "http://127.0.0.1:9090",
        SLUICE_PORT: "tcp://10.0.0.1:8080",
        SLUICE_PORT_8080_TCP: "tcp://10.0.0.1:8080",
        SLUICE_PORT_8080_TCP_ADDR: "10.0.0.1",
        SLUICE_SERVICE_HOST: "10.0.0.1",
        SLUICE_SERVICE_PORT: "8080",
        SLUICE_SERVICE_PORT_HTTP: "8080",
        SLUICE_GATEWAY_PORT: "tcp://10.0.0.1:8080",
        SLUICE_GATEWAY_SERVICE_HOST: "10.0.0.1",
        SLUICED: "1",
      }),
    ).toBe("");
  });

  it("is one for each value, and no two are the same", () => {
    const variables = listVariables(input);
    expect(variables.length).toBeGreaterThan(80);
    expect(new Set(variables).size).toBe(variables.length);
  });
});
