// What a changed configuration needs a restart for.

import { describe, expect, it } from "vitest";
import { toConfig } from "../config/load.js";
import { changesForRestart } from "./config-changes.js";

const file = {
  gateway: { listen: "127.0.0.1:8080" },
  upstreams: { app: { backends: ["http://127.0.0.1:3000"] } },
  routes: [{ path: "/*", upstream: "app" }],
  identity: {
    jwt: { secret: "0123456789abcdef0123456789abcdef", algorithms: ["HS256"] },
    user: { claim: "sub" },
  },
  ledger: { database: "file:ledger.db" },
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
    [
      "webhooks, and what else of the ledger",
      {
        ledger: {
          database: "file:ledger.db",
          reservationMs: "5m",
          deliveriesKeptMs: 864_000_000,
          webhooks: { billing: { url: "https://example.com/", secret: "0123456789abcdef" } },
        },
      },
      ["ledger.reservationMs"],
    ],
    ["a port", { gateway: { listen: "127.0.0.1:8081" } }, ["gateway.listen"]],
    ["where it listens, once", { gateway: { listen: "0.0.0.0:8081" } }, ["gateway.listen"]],
    [
      "the process",
      { server: { drainMs: "5s", drainDelayMs: "3s", workers: 3 } },
      ["server.workers", "server.drainDelayMs", "server.drainMs"],
    ],
    ["a listener that comes", { decision: { listen: "127.0.0.1:8082" } }, ["decision"]],
    ["an upstream", { upstreams: { app: { backends: ["http://127.0.0.1:3001"] } } }, ["upstreams"]],
    ["the store", { store: { keysMax: 2_000 } }, ["store.keysMax"]],
    ["who callers are", { identity: { trustedProxies: ["10.0.0.0/8"] } }, ["identity"]],
  ])("names %s", (_, changes, names) => {
    const before = toConfig(file);
    const changed = changesForRestart(before, toConfig({ ...file, ...changes }));
    expect(changed).toEqual(names);
  });
});
