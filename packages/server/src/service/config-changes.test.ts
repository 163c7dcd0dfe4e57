// What a changed configuration needs a restart for.

import { describe, expect, it } from "vitest";
import { toConfig } from "../config/load.js";
import { changesForRestart } from "./config-changes.js";

const file = {
  gateway: { listen: "127.0.0.1:8080" },
  upstreams: { app: { targets: ["http://127.0.0.1:3000"] } },
  routes: [{ path: "/*", upstream: "app" }],
  identity: {
    jwt: { secret: "0123456789abcdef0123456789abcdef", algorithms: ["HS256"] },
    user: { claim: "sub" },
  },
  rules: { version: 1, rules: [] },
};

describe("changesForRestart", () => {
  it.each([
    ["nothing", {}, []],
    [
      "rules and the log level",
      {
        rules: { version: 1, rules: [{ id: "a", limit: "1/second" }] },
        telemetry: { logLevel: "warn" },
      },
      [],
    ],
    ["a port", { gateway: { listen: "127.0.0.1:8081" } }, ["gateway.listen.port"]],
    ["a door that comes", { decision: { listen: "127.0.0.1:8082" } }, ["decision"]],
    ["an upstream", { upstreams: { app: { targets: ["http://127.0.0.1:3001"] } } }, ["upstreams"]],
    ["the store", { store: { kind: "redis", url: "redis://127.0.0.1:6379" } }, ["store.kind"]],
  ])("names %s", (_, changes, names) => {
    const before = toConfig(file);
    const changed = changesForRestart(before, toConfig({ ...file, ...changes }));
    expect(changed).toEqual(names.length === 0 ? [] : expect.arrayContaining(names));
  });
});
