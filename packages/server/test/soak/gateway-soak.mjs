// The gateway under many requests of many kinds, in one process that is measured: after a warm-up and after
// all of them the garbage is collected, and what is left must be the same. Clients and upstream run in a
// second process, so that only the gateway is in the numbers. Over the built package:
// `node --expose-gc packages/server/test/soak/gateway-soak.mjs 1000000`. Prints one line of JSON.

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openGateway } from "../../dist/gateway/gateway.js";
import { createCore } from "../../dist/core/create-core.js";

/** Compiled code and statistics settle; more than this is a leak. */
const GROWN_BYTES_MAX = 2_000_000;
/** Decisions are sampled on purpose, up to a bound, this many a second: a slow machine has more of them in the end. */
const SAMPLE_BYTES_MAX = 2_000;

const requests = Number(process.argv[2] ?? 1_000_000);
const warmUp = Math.min(requests / 5, 50_000);

const load = fork(fileURLToPath(new URL("soak-load.mjs", import.meta.url)), { execArgv: [] });
const messageOf = (kind) =>
  new Promise((resolve, reject) => {
    const look = (message) => {
      if (message.kind !== kind) return;
      load.off("message", look);
      resolve(message);
    };
    load.on("message", look).once("exit", () => reject(new Error("the load ended early")));
  });

const { backend } = await messageOf("upstream");
const core = createCore(toConfig(backend));
const gateway = await openGateway(core);

const warm = await run(warmUp);
const before = await measure();
const result = await run(requests);
const after = await measure();

load.disconnect();
await gateway.close();
await core.close();
const sampledBytes = (after.samples - before.samples) * SAMPLE_BYTES_MAX;
const grownBytes = after.heapUsed - before.heapUsed - sampledBytes;
const { statuses, ms } = result;
const line = { requests, warm: warm.statuses, statuses, ms, before, after, grownBytes };
process.stdout.write(`${JSON.stringify(line)}\n`);
if (grownBytes > GROWN_BYTES_MAX || after.places !== before.places) {
  process.stderr.write(`not flat: ${grownBytes} bytes more, ${after.places} places free\n`);
  process.exitCode = 1;
}

async function run(count) {
  load.send({ kind: "run", url: gateway.url, count });
  return await messageOf("done");
}

/** What is left once all connections have ended and the garbage is gone. */
async function measure() {
  await sleep(500);
  for (let i = 0; i < 5; i++) {
    globalThis.gc();
    await sleep(20);
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  const { results } = await core.policy.peek({ method: "GET", path: "/places", ip: "192.0.2.1" });
  const places = results.find(({ rule }) => rule === "places")?.verdict.remaining;
  const samples = core.telemetry.samples.latest({ limit: 100_000 }).length;
  return { heapUsed, external, arrayBuffers, rss, places, samples };
}

function toConfig(backend) {
  const loopback = { host: "127.0.0.1", port: 0 };
  const perMinute = (limit) => ({ fixedWindow: { limit, windowMs: 60_000 } });
  return {
    file: undefined,
    workers: 1,
    drainDelayMs: 0,
    drainMs: 10_000,
    gateway: {
      listen: loopback,
      tls: undefined,
      headerBytesMax: 16_384,
      headersMax: 200,
      bodyBytesMax: 1_048_576,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 60_000,
      keepAliveMs: 65_000,
      connectionsMax: 20_000,
      rateLimitPath: "/rate_limit",
    },
    decision: undefined,
    envoy: undefined,
    admin: { listen: loopback, token: undefined },
    upstreams: new Map([
      [
        "main",
        {
          name: "main",
          backends: [backend],
          balance: "round-robin",
          connectTimeoutMs: 2_000,
          responseTimeoutMs: 30_000,
          idleTimeoutMs: 60_000,
          retriesMax: 1,
          failuresMax: 1_000_000,
          ejectMs: 10,
          connectionsMax: 256,
          waitingMax: 1_024,
        },
      ],
    ]),
    routes: [{ path: "/*", host: undefined, upstream: "main", preserveHost: true }],
    store: { kind: "memory", onStoreFailure: "local", keysMax: 10_000 },
    identity: { trustedProxies: ["127.0.0.1/32"] },
    responses: {},
    rules: {
      inline: {
        version: 1,
        rules: [
          { id: "all", key: "ip", limit: perMinute(1_000_000_000) },
          { id: "few", key: "global", match: { path: "/few/*" }, limit: perMinute(1) },
          {
            id: "places",
            key: "global",
            match: { path: "/places/*" },
            limit: { concurrency: { limit: 1_000, permitMs: 3_600_000 } },
          },
        ],
      },
    },
    telemetry: { logLevel: "silent", decisionLogShare: 0, region: "local", topKeysMax: 20 },
  };
}
