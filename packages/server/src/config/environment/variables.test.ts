import { describe, expect, it } from "vitest";
import { fileSection } from "../description/file.js";
import { toNode } from "../description/walk.js";
import { ConfigError, parseConfig, toConfig } from "../load.js";

// Written apart, since both languages would replace it.
const $ = "$";
const goodFile = (region: string) => `
gateway: { listen: "127.0.0.1:8080" }
upstreams: { app: { backends: [http://127.0.0.1:3000] } }
routes: [{ path: /*, upstream: app }]
rules: { version: 1, rules: [] }
telemetry: { region: "${region}" }
`;
const regionOf = (region: string, env: NodeJS.ProcessEnv) =>
  parseConfig(goodFile(region), { env }).telemetry.region;

describe("a variable in a string", () => {
  it.each<[string, string, NodeJS.ProcessEnv, string]>([
    ["is replaced", `${$}{R}`, { R: "eu" }, "eu"],
    ["is replaced in the middle, and several times", `a-${$}{R}-${$}{R}`, { R: "eu" }, "a-eu-eu"],
    ["has a default where it is not set", `${$}{R:-us}`, {}, "us"],
    ["has a default where it is empty", `${$}{R:-us}`, { R: "" }, "us"],
    ["is taken before its default", `${$}{R:-us}`, { R: "eu" }, "eu"],
    ["is not looked for in what another stands for", `${$}{R}`, { R: "eu", eu: "no" }, "eu"],
  ])("%s", (_what, text, env, expected) => {
    expect(regionOf(text, env)).toBe(expected);
  });

  it("is not replaced where $$ stands before it, nor is a plain $", () => {
    const text = goodFile("eu").replace("/*,", () => `"/${$}${$}{R}/$a",`);
    expect(parseConfig(text, { env: { R: "x" } }).routes[0].path).toBe(`/${$}{R}/$a`);
  });

  it("can't change the structure of the file", () => {
    const read = () => regionOf(`${$}{R}`, { R: 'x", logLevel: silent, topKeysMax: "5' });
    expect(read).toThrow("telemetry.region must be");
    expect(read).not.toThrow("silent");
  });

  it("is not replaced in names", () => {
    const text = goodFile("eu").replace("app:", `"${$}{R}":`);
    expect(() => parseConfig(text, { env: { R: "app" } })).toThrow(
      `upstreams["${$}{R}"] can't be a name`,
    );
  });

  it("may be a number or a flag", () => {
    const text = `${goodFile("eu")}server: { workers: "${$}{N}" }\nidentity: { forwardedHost: "${$}{F}" }`;
    const config = parseConfig(text, { env: { N: "3", F: "true" } });
    expect([config.workers, config.identity.forwardedHost]).toEqual([3, true]);
  });
});

describe("secrets", () => {
  const SECRET = "hunter2-hunter2-a";
  const messageOf = (read: () => unknown): string => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return `${error.message}\n${error.stack}\n${JSON.stringify(error.problems)}`;
    }
    throw new Error("there was nothing wrong with it");
  };

  it.each<[string, string, NodeJS.ProcessEnv]>([
    ["as a token that is too short", "admin: { token: hunter2 }", {}],
    ["as a token with a space", `admin: { token: "${SECRET} x" }`, {}],
    ["as a token that is a list", `admin: { token: [${SECRET}] }`, {}],
    ["in place of a section", `admin: ${SECRET}`, {}],
    ["in place of a list", `decision: { tokens: ${SECRET} }`, {}],
    ["in the address of Redis", `store: { kind: redis, url: "http://:${SECRET}@127.0.0.1" }`, {}],
    [
      "beside a wrong port",
      `store: { kind: redis, url: "redis://:${SECRET}@127.0.0.1:99999" }`,
      {},
    ],
    ["beside a wrong database", `store: { kind: redis, url: "redis://:${SECRET}@h:6379/a" }`, {}],
    ["with a bare slash", `store: { kind: redis, url: "redis://:p@s/${SECRET}@h:6379" }`, {}],
    ["with a bare percent", `store: { kind: redis, url: "redis://:%zz${SECRET}@h:6379" }`, {}],
    ["in a backend", `upstreams: { app: { backends: ["http://a:${SECRET}@127.0.0.1"] } }`, {}],
    ["under an unknown name", `admin: { pasword: ${SECRET} }`, {}],
    ["in a broken text", `admin: { token: "a" ${SECRET} }`, {}],
    ["behind a bracket too many", `admin: { token: a }\n${SECRET}`, {}],
    ["from a variable in the wrong place", `server: { workers: "${$}{S}" }`, { S: SECRET }],
    [
      "from a variable of a rule",
      `rules: { version: 1, rules: [{ id: "${$}{S}" }] }`,
      { S: SECRET },
    ],
    [
      "from a long variable of a rule",
      `rules: { version: 1, rules: [{ id: "a${$}{S}" }] }`,
      { S: `"${SECRET}`.repeat(20) },
    ],
    ["from the environment", "", { SLUICE_ADMIN_TOKEN: `${SECRET} ` }],
    ["from the environment, in a list", "", { SLUICE_DECISION_TOKENS: `${SECRET} x` }],
    ["in an unknown variable", "", { SLUICE_TOKEN: SECRET }],
    ["as a secret of tokens", "identity: { jwt: { secret: hunter2, algorithms: [HS256] } }", {}],
    ["as a secret of keys", "identity: { keySecret: hunter2 }", {}],
  ])("%s are not in the message", (_what, text, env) => {
    expect(messageOf(() => parseConfig(text, { file: "sluice.yaml", env }))).not.toContain(
      "hunter2",
    );
  });

  it.each([
    ["begins with http://", `http://:${SECRET}@127.0.0.1:6379`],
    ["has no scheme", `:${SECRET}@127.0.0.1:6379`],
    ["has no scheme", `redis:${SECRET}@127.0.0.1:6379`],
    ["begins with redis://", `redis://:${SECRET} @127.0.0.1`],
  ])("leave it to be said that a URL %s: %s", (said, url) => {
    const written = `${$}{REDIS_URL:-redis://127.0.0.1:6379}`;
    const byVariable = messageOf(() =>
      toConfig({ store: { kind: "redis", url: written } }, { env: { REDIS_URL: url } }),
    );
    expect(byVariable).toContain(`got "${written}", which ${said} once its variables are replaced`);
    expect(byVariable).not.toContain("hunter2");
    const direct = messageOf(() => toConfig({ store: { kind: "redis", url } }));
    expect(direct).toContain(`got a string of ${url.length} characters that ${said}`);
    expect(direct).not.toContain("hunter2");
  });

  it.each(listValues())("of a variable are not in the message, wherever it stands: %s", (name) => {
    const value = name
      .split(".")
      .reduceRight<unknown>(
        (inner, step) => (step === "[]" ? [inner] : { [step]: inner }),
        `${$}{S}`,
      );
    expect(messageOf(() => toConfig(value as object, { env: { S: SECRET } }))).not.toContain(
      "hunter2",
    );
  });
});

/** The ways to all values, those that name files apart: which file can't be read has to be said. */
function listValues(shape: Parameters<typeof toNode>[0] = fileSection, path = ""): string[] {
  const node = toNode(shape);
  const below = (step: string) => (path === "" ? step : `${path}.${step}`);
  if (node.kind === "map") return listValues(node.entry, below("app"));
  if (node.kind === "list") return listValues(node.entry, below("[]"));
  if (node.kind === "value") return /(?:[fF]iles?|mmdb)(\.\[\])?$/.test(path) ? [] : [path];
  return Object.entries(node.fields).flatMap(([name, field]) =>
    listValues(field.shape, below(name)),
  );
}
