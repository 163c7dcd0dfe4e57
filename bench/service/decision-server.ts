// The process of one side: `decision-server.js decision`. It sends its port to its parent process, then its
// processor time whenever the parent asks, and serves until the parent exits. The decision API is the service as
// users run it, with one rule in memory; the reference is the smallest possible node:http server.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Config, startService } from "sluice-server";

const LOOPBACK = { host: "127.0.0.1", port: 0 };
const BODY = JSON.stringify({ hello: "world" });

const sides = {
  hello: serveHello,
  decision: serveDecisions,
} as const satisfies Record<string, () => Promise<number>>;

/** The name of a side. */
export type DecisionSide = keyof typeof sides;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1e6);
  });
  process.send(await sides[process.argv[2] as DecisionSide]());
}

function serveHello(): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(BODY),
    });
    response.end(BODY);
  });
  return new Promise((resolve) => {
    server.listen(LOOPBACK.port, LOOPBACK.host, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

async function serveDecisions(): Promise<number> {
  const { listeners } = await startService(toConfig());
  const listener = listeners.find(({ name }) => name === "decision");
  if (listener === undefined) throw new Error("the service has no decision API");
  return Number(new URL(listener.url).port);
}

/** Nothing is ever refused. */
function toConfig(): Config {
  const bucket = { tokenBucket: { capacity: 1_000_000, refillPerSecond: 1_000_000 } };
  return {
    file: undefined,
    workers: 1,
    drainDelayMs: 0,
    drainMs: 1_000,
    gateway: undefined,
    decision: { listen: LOOPBACK, tokens: [], forwardAuth: true, bodyBytesMax: 1_048_576 },
    envoy: undefined,
    admin: { listen: LOOPBACK, token: undefined },
    upstreams: new Map(),
    routes: [],
    store: { kind: "memory", onStoreFailure: "local", keysMax: 1_000_000 },
    identity: {},
    responses: {},
    rules: { inline: { version: 1, rules: [{ id: "per-user", key: "user", limit: bucket }] } },
    telemetry: { logLevel: "silent", decisionLogShare: 0.001, region: "local", topKeysMax: 20 },
  };
}
