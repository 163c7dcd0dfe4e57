import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate, makeFolder } from "sluice-test-servers";
import { beforeAll, describe, expect, it } from "vitest";
import { badFiles, goodFile } from "../../test/config/bad-cases.js";
import { ServerError } from "../base/errors.js";
import { ConfigError, loadConfig, parseConfig } from "./load.js";

/** The problems of a string, one line each, as the message has them. */
function problemsOf(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  try {
    parseConfig(text, { file: "sluice.yaml", env });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.code).toBe("SLUICE_CONFIG_INVALID");
    const lines = error.problems.map(({ message, place }) =>
      place === undefined ? message : `${place}: ${message}`,
    );
    for (const line of lines) expect(error.message).toContain(line);
    return lines;
  }
}

describe("a file with one mistake", () => {
  it("has none without it", () => {
    expect(problemsOf(goodFile)).toEqual([]);
  });

  it.each(badFiles)("reports %s, and at which line", (_what, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});

describe("a file with several mistakes", () => {
  it("reports all of them, in the order of the file, those of the environment last", () => {
    const text = `server: { workers: ten }
gatway: {}
upstreams: { app: { backends: [ftp://a], retriesMax: many } }
routes: [{ path: /*, upstream: other }]
admin: { listen: ":9090" }
decision: {}
`;
    expect(problemsOf(text, { SLUICE_DRAIN: "1", SLUICE_STORE_KIND: "disk" })).toEqual([
      'sluice.yaml:1: server.workers must be a whole number from 1 to 256, got "ten"',
      "sluice.yaml:1: rules is missing: decision needs { file: rules.yaml }, or rules written here",
      "sluice.yaml:2: gatway is unknown, did you mean gateway? known: $schema, version, server, gateway, decision, envoy, admin, upstreams, routes, store, regions, identity, responses, challenge, rules, lists, control, ledger, telemetry",
      `sluice.yaml:3: upstreams.app.backends[0] must be an address such as http://127.0.0.1:3000 or https://api.example.com, without a path, got "ftp://a"`,
      'sluice.yaml:3: upstreams.app.retriesMax must be a whole number from 0 to 10, got "many"',
      'sluice.yaml:4: routes[0].upstream "other" is not in upstreams; there are app',
      "sluice.yaml:5: admin.token is missing: 0.0.0.0:9090 is open to other machines",
      "the variable SLUICE_DRAIN does not match any setting",
      'SLUICE_STORE_KIND: store.kind must be one of memory, redis, got "disk"',
    ]);
  });

  it("reports one address for two listeners along with their other problems", () => {
    const text = `gateway: { listen: "127.0.0.1:8080", nonsense: 1 }
upstreams: { app: { backends: ["http://127.0.0.1:3000"] } }
routes: [{ path: /*, upstream: app }]
decision: { listen: "127.0.0.1:8080", tokens: [short] }
admin: { listen: "0.0.0.0:8080" }
rules: { version: 1, rules: [] }
`;
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^sluice.yaml:1: gateway.nonsense is unknown/),
      expect.stringMatching(/^sluice.yaml:4: decision.tokens\[0\] must be/),
      "sluice.yaml:4: decision.listen must differ from gateway.listen, both are 127.0.0.1:8080",
      "sluice.yaml:5: admin.token is missing: 0.0.0.0:8080 is open to other machines",
      "sluice.yaml:5: admin.listen must differ from gateway.listen, both are 0.0.0.0:8080",
    ]);
  });

  it("says how many there are, and shows no more than 50", () => {
    const fields = Array.from({ length: 60 }, (_, i) => `  unknown-field-${i}: 1`).join("\n");
    expect(() => parseConfig(`${goodFile}server:\n${fields}\n`)).toThrow(
      /60 problems\n.*\n {2}and 10 more$/s,
    );
  });

  it("says line and not file of a string without a name", () => {
    expect(() => parseConfig(`${goodFile}server: 5`)).toThrow(
      "line 7: server must be a map of values",
    );
  });
});

describe("rules", () => {
  const bad = `
rules:
  version: 1
  rules:
    - id: a
      limit: 5/minute
    - id: b
      limit: lots
    - id: c
      limit: 5/minute
      keys: ip
`;

  it("that stand in the file are reported with its lines", () => {
    const problems = problemsOf(goodFile.replace(/^rules.*\n/m, bad));
    expect(problems).toEqual([
      expect.stringMatching(/^sluice\.yaml:13: rules: rule "b": limit .*"lots"/),
      expect.stringMatching(/^sluice\.yaml:16: rules: rule "c": .*keys/),
    ]);
  });

  it("that a listener can't keep are reported with its lines", () => {
    const when =
      "\nrules:\n  version: 1\n  rules:\n    - { id: a, limit: 5/minute, when: { status: 401 } }\n";
    expect(problemsOf(goodFile.replace(/^rules.*\n/m, when))).toEqual([]);
    expect(problemsOf(`${goodFile.replace(/^rules.*\n/m, when)}decision: {}\n`)).toEqual([
      'sluice.yaml:10: rules: rule "a": when needs to see responses, which the decision API and forward-auth don\'t: ' +
        'remove it from the rule, or the section "decision" from the configuration (in code: seesResponses: false)',
    ]);
  });

  it("may come from a file or stand here, not both", () => {
    expect(problemsOf(goodFile.replace("version: 1, rules", "file: a.yaml, rules"))).toEqual([
      "sluice.yaml:6: rules has file and rules: it may have one or the other",
    ]);
  });

  it("in a value from the environment are reported by its name", () => {
    expect(problemsOf(goodFile, { SLUICE_RULES: "{ version: 1, rules: 5 }" })).toEqual([
      expect.stringMatching(/^SLUICE_RULES: rules: rules must be a list.*, got 5/),
    ]);
  });
});

describe("files that are named", () => {
  let folder = "";
  const read = (text: string) => {
    writeFileSync(join(folder, "sluice.yaml"), text);
    try {
      loadConfig(join(folder, "sluice.yaml"), {});
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map(({ message, place }) =>
        `${place}: ${message}`.replaceAll(`${folder}/`, ""),
      );
    }
  };
  beforeAll(() => {
    folder = makeFolder("config");
    for (const name of ["a", "b"]) makeCertificate(folder, name);
  });
  const withTls = (tls: string) => goodFile.replace('8080"', `8080", tls: ${tls}`);

  it("are found beside the configuration, wherever the service was started", () => {
    writeFileSync(join(folder, "rules.yaml"), "version: 1\nrules: []\n");
    const text = withTls("{ certFile: a.crt, keyFile: ./a.key }");
    writeFileSync(
      join(folder, "sluice.yaml"),
      text.replace(/^rules.*$/m, "rules: { file: rules.yaml }"),
    );
    const config = loadConfig(join(folder, "sluice.yaml"), {});
    expect(config.gateway?.tls).toEqual({
      certFile: join(folder, "a.crt"),
      keyFile: join(folder, "a.key"),
    });
    expect(config.rules).toEqual({ file: join(folder, "rules.yaml") });
  });

  it("have to be there", () => {
    const text = withTls("{ certFile: no.crt, keyFile: a.key }").replace(
      /^rules.*$/m,
      "rules: { file: no.yaml }",
    );
    expect(read(`${text}envoy: { files: [a.crt, no] }\n`)).toEqual([
      'sluice.yaml:2: gateway.tls.certFile "no.crt" was not found; correct the path',
      'sluice.yaml:6: rules.file "no.yaml" was not found; correct the path, which is relative to the folder of the configuration, or create the file (sluice init writes a sample)',
      'sluice.yaml:7: envoy.files[1] "no" was not found; correct the path',
    ]);
  });

  it("have to fit together: a certificate and its key", () => {
    expect(read(withTls("{ certFile: a.crt, keyFile: b.key }"))).toEqual([
      expect.stringMatching(/^sluice.yaml:2: gateway.tls can't be used: .*key values mismatch/),
    ]);
  });

  it.each([
    ["jwksUrl: http://login.example.com/jwks", /jwksUrl must be https, or http on a loopback/],
    ["jwksUrl: nowhere", /jwksUrl must be a URL such as https:.*got "nowhere"/],
    ["jwksUrl: https://me:pass@example.com/", /jwksUrl must have no credentials$/],
    ["jwksUrl: https://example.com/, jwksStaleMs: 10s", /jwksStaleMs must be .*600,?000/],
    ["jwksFile: a.crt, jwksStaleMs: 10s", /jwksStaleMs needs jwksUrl/],
  ])("are not needed for keys at a URL, which are checked: %s", (keys, problem) => {
    const text = `${goodFile}identity: { jwt: { ${keys}, algorithms: [RS256] } }\n`;
    expect(read(text)).toEqual([expect.stringMatching(problem)]);
  });

  it.each([
    ["caFile: a.crt, certFile: a.crt, keyFile: a.key", []],
    ["caFile: a.key", [/tls can't be used: /]],
    ["caFile: no.crt", [/tls\.caFile "no\.crt" was not found/]],
    ["certFile: a.crt", [/tls\.certFile needs keyFile too/]],
    ["keyFile: a.key", [/tls\.keyFile needs certFile too/]],
    ["certFile: a.crt, keyFile: b.key", [/tls can't be used: .*key values mismatch/]],
    ["serverName: 127.0.0.1", [/tls\.serverName must be a name such as api\.example\.com/]],
  ])("of an https upstream are checked: %s", (tls, problems) => {
    const backends = `backends: [https://127.0.0.1], tls: { ${tls} }`;
    const text = goodFile.replace(/backends: \[[^\]]*\]/, backends);
    expect(text).toContain(backends);
    expect(read(text)).toEqual(problems.map((problem) => expect.stringMatching(problem)));
  });

  it.each([
    ["certFile: a.crt, keyFile: a.key, clientCaFile: b.crt", []],
    ["certFile: a.crt, keyFile: b.key", [/envoy\.tls can't be used: .*key values mismatch/]],
    ["certFile: a.crt, keyFile: a.key, clientCaFile: b.key", [/envoy\.tls can't be used: /]],
    [
      "certFile: a.crt, keyFile: a.key, clientCaFile: no",
      [/envoy\.tls\.clientCaFile "no" was not found/],
    ],
    ["certFile: a.crt", [/envoy\.tls\.keyFile/]],
  ])("of the gRPC listener are checked: %s", (tls, problems) => {
    const text = `${goodFile}envoy: { files: [a.crt], tls: { ${tls} } }\n`;
    expect(read(text)).toEqual(problems.map((problem) => expect.stringMatching(problem)));
  });

  it("of TLS go with https:// backends", () => {
    const text = goodFile.replace(/backends: \[[^\]]*\]/, "$&, tls: { caFile: a.crt }");
    expect(read(text)).toEqual([
      expect.stringContaining("tls needs https:// backends, but there are none"),
    ]);
  });

  it("of rules are reported with their own lines", () => {
    writeFileSync(join(folder, "rules.yaml"), "version: 1\nrules:\n  - id: a\n    limit: lots\n");
    expect(read(goodFile.replace(/^rules.*$/m, "rules: { file: rules.yaml }"))).toEqual([
      expect.stringMatching(/^rules.yaml:4: rules: rule "a": limit .*"lots"/),
    ]);
  });

  it("of keys have to be public keys, and are not shown", () => {
    const text = `${goodFile}identity: { jwt: { keyFile: a.key, algorithms: [ES256] } }\n`;
    expect(read(text)).toEqual([
      "sluice.yaml:7: identity.jwt can't be used: key must be a public key or a certificate, as PEM",
    ]);
    expect(read(text.replace("a.key", "a.crt"))).toEqual([]);
  });

  it("of keys have to be there", () => {
    const text = `${goodFile}identity: { jwt: { jwksFile: no.json, algorithms: [RS256] } }\n`;
    expect(read(text)).toEqual([
      expect.stringMatching(
        /^sluice.yaml:7: identity.jwt.jwksFile ".*no.json" was not found; correct the path, which is relative to/,
      ),
    ]);
    expect(read(text.replace("jwksFile", "keyFile"))).toEqual([
      expect.stringMatching(/^sluice.yaml:7: identity.jwt.keyFile ".*no.json" was not found/),
    ]);
  });

  it("that are the configuration itself and not there are an error of their own", () => {
    const load = () => loadConfig(join(folder, "nowhere.yaml"), {});
    expect(load).toThrow(ServerError);
    expect(load).toThrow(/can't be read: .*nowhere.yaml: ENOENT/);
  });
});
