// Redis that goes away and comes back under load: every request is answered in time, and limits hold again
// by what Redis knows.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, startFaultProxy, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startService } from "../../src/service/service.js";
import { reloadsSeen, toGatewayConfig } from "./in-process.js";
import { countOf, startLoad } from "./load.js";
import { startUpstream, type Upstream } from "./upstream.js";

type Redis = Awaited<ReturnType<typeof startRedis>>;
let redis: Redis;
let upstream: Upstream;
beforeAll(async () => {
  redis = await startRedis();
  upstream = await startUpstream();
});
afterAll(async () => {
  await upstream.close();
  await redis.stop();
});

describe("Redis gone and back under load", () => {
  it("fails no request, reports the fallback, and counts on where it was", async () => {
    const proxy = await startFaultProxy({ port: redis.port });
    const { telemetry } = reloadsSeen();
    const events: string[] = [];
    let onEvent = () => {};
    telemetry.fallbackEvent = ({ kind }) => {
      events.push(kind);
      onEvent();
    };
    const seen = (kind: string) =>
      new Promise<void>((resolve) => {
        onEvent = () => {
          if (events.includes(kind)) resolve();
        };
        onEvent();
      });
    const window = { fixedWindow: { limit: 1_000_000, windowMs: 3_600_000, align: "first" } };
    const rules = [{ id: "everybody", key: "global", limit: window, onStoreFailure: "open" }];
    const store = { kind: "redis", url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: 200 };
    const config = toGatewayConfig(upstream.url, { version: 1, rules }, { store });
    const service = await startService(config, { telemetry });
    const gateway = service.listeners.find(({ name }) => name === "gateway")?.url ?? "";
    const load = startLoad(gateway, { clients: 8 });
    await load.until(300);
    proxy.refuse();
    proxy.cut();
    await seen("entered");
    const away = countOf(load.tally, 200);
    await load.until(away + 300);
    await proxy.heal();
    await seen("left");
    const back = countOf(load.tally, 200);
    await load.until(back + 300);
    const tally = await load.stop();
    expect(tally.failures).toEqual([]);
    expect([...tally.statuses.keys()]).toEqual([200]);
    const facts = { method: "GET", path: "/" };
    const { remaining, source } = await service.core.policy.peek(facts);
    // All that Redis was there for is counted, and what it was unavailable for is not.
    const used = 1_000_000 - remaining;
    expect(source).toBe("store");
    expect(used).toBeGreaterThanOrEqual(500);
    expect(used).toBeLessThan(countOf(tally, 200));
    await service.close();
    proxy.close();
  });
});

describe("what the configuration says for a store that is unavailable", () => {
  const file = join(makeFolder("away"), "ratelimit.yaml");
  const limits = "rate_limit: { unit: year, requests_per_unit: 4 }";
  writeFileSync(file, `domain: edge\ndescriptors:\n  - { key: who, ${limits} }\n`);

  const four = { fixedWindow: { limit: 4, windowMs: 31_536_000_000 } };
  const rules = [
    { id: "usual", key: "global", match: { path: "/usual" }, limit: four },
    { id: "own", key: "global", match: { path: "/own" }, limit: four, onStoreFailure: "open" },
  ];

  async function start(onStoreFailure: string) {
    const gone = await startFaultProxy({ port: redis.port });
    gone.refuse();
    const config = toGatewayConfig(
      upstream.url,
      { version: 1, rules },
      {
        decision: { listen: "127.0.0.1:0" },
        envoy: { listen: "127.0.0.1:0", http: "127.0.0.1:0", files: [file] },
        store: { kind: "redis", url: `redis://127.0.0.1:${gone.port}`, onStoreFailure },
      },
    );
    const service = await startService(config, { telemetry: reloadsSeen().telemetry });
    const listeners = new Map(service.listeners.map((listener) => [listener.name, listener]));
    const post = async (url: string, body: object) => {
      const headers = { "content-type": "application/json" };
      return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    };
    return {
      gateway: (path: string) => fetch(`${listeners.get("gateway")?.url}${path}`),
      inline: () =>
        post(`${listeners.get("decision")?.url}/v1/check`, { limit: four, key: "user:42" }),
      envoy: () =>
        post(`${listeners.get("envoy")?.httpUrl}/json`, {
          domain: "edge",
          descriptors: [{ entries: [{ key: "who", value: "me" }] }],
        }),
      close: async () => {
        await service.close();
        gone.close();
      },
    };
  }

  it.each([
    ["local", [200, 200, 429], [true, true, false], [200, 200, 429]],
    ["open", [200, 200, 200], [true, true, true], [200, 200, 200]],
    ["closed", [503, 503, 503], [false, false, false], [429, 429, 429]],
    ["throw", [503, 503, 503], [undefined, undefined, undefined], [500, 500, 500]],
  ])(
    "%s holds at every listener, but for rules that say something else",
    async (policy, ...expected) => {
      const { gateway, inline, envoy, close } = await start(policy);
      const seen: unknown[][] = [[], [], []];
      for (let i = 0; i < 3; i++) {
        seen[0].push((await gateway("/usual")).status);
        seen[1].push(((await (await inline()).json()) as { allowed?: boolean }).allowed);
        seen[2].push((await envoy()).status);
        expect((await gateway("/own")).status).toBe(200);
      }
      expect(seen).toEqual(expected);
      await close();
    },
  );
});
