// The process that answers gRPC calls for one side of `service/envoy`: `envoy-server.js sluice`. It sends its port
// to its parent process, then its processor time whenever the parent asks, and serves until the parent exits. The
// reference returns each message as it came, without reading it or deciding anything. Sluice runs as users run it,
// with a limit that is never reached.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { type Config, startService } from "sluice-server";
import { makeFolder } from "sluice-test-servers";

/** The method that both sides answer. */
export const METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

const LOOPBACK = { host: "127.0.0.1", port: 0 };
const toFile = (limit: number) => `
domain: bench
descriptors:
  - key: remote_address
    rate_limit: { unit: year, requests_per_unit: ${limit} }
`;

const sides = {
  echo: serveEcho,
  sluice: () => serveSluice(4_294_967_295),
  /** Refuses all but the first call of each address. */
  refusing: () => serveSluice(1),
} as const satisfies Record<string, () => Promise<number>>;

/** The name of a side. */
export type EnvoySide = keyof typeof sides;

// Only a forked process has a parent to report to; an import for the types does nothing.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on("disconnect", () => process.exit(0));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1e6);
  });
  process.send(await sides[process.argv[2] as EnvoySide]());
}

function serveEcho(): Promise<number> {
  const asIs = (bytes: Buffer) => bytes;
  const answer: handleUnaryCall<Buffer, Buffer> = (call, callback) => callback(null, call.request);
  // As its documentation has it, without options.
  const server = new Server();
  server.register(METHOD, answer, asIs, asIs, "unary");
  return new Promise((resolve, reject) => {
    server.bindAsync(`${LOOPBACK.host}:0`, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

async function serveSluice(limit: number): Promise<number> {
  const folder = makeFolder("bench");
  const file = join(folder, "ratelimit.yaml");
  writeFileSync(file, toFile(limit));
  const { listeners } = await startService(toConfig(file));
  const envoy = listeners.find(({ name }) => name === "envoy");
  if (envoy === undefined) throw new Error("the service has no listener for Envoy");
  return Number(new URL(envoy.url).port);
}

function toConfig(file: string): Config {
  return {
    file: undefined,
    workers: 1,
    drainDelayMs: 0,
    drainMs: 1_000,
    gateway: undefined,
    decision: undefined,
    envoy: {
      listen: LOOPBACK,
      http: undefined,
      files: [file],
      mergeDomains: false,
      shadowMode: false,
      quotaMode: false,
      responseHeaders: undefined,
      requestHeaders: undefined,
      dynamicMetadata: false,
    },
    admin: { listen: LOOPBACK, token: undefined },
    upstreams: new Map(),
    routes: [],
    store: { kind: "memory", onStoreFailure: "local", keysMax: 1_000_000 },
    identity: {},
    responses: {},
    rules: { inline: { version: 1, rules: [] } },
    telemetry: { logLevel: "silent", decisionLogShare: 0.001, region: "local", topKeysMax: 20 },
  };
}
