// Redis that goes away and comes back under load: every request is answered in time, and limits hold again
// by what Redis knows.

import { startFaultProxy, startRedis } from "sluice-test-servers";
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
  it("fails no request, tells of the fallback, and counts on where it was", async () => {
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
    const window = { fixedWindow: { limit: 1_000_000, windowMs: 3_600_000 } };
    const rules = [{ id: "everybody", key: "global", limit: window, onStoreFailure: "open" }];
    const store = { kind: "redis", url: `redis://127.0.0.1:${proxy.port}`, timeoutMs: 200 };
    const config = toGatewayConfig(upstream.url, { version: 1, rules }, { store });
    const service = await startService(config, { telemetry });
    const gateway = service.doors.find(({ name }) => name === "gateway")?.url ?? "";
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
    // All that Redis was there for is counted, and what it was away for is not.
    const used = 1_000_000 - remaining;
    expect(source).toBe("store");
    expect(used).toBeGreaterThanOrEqual(500);
    expect(used).toBeLessThan(countOf(tally, 200));
    await service.close();
    proxy.close();
  });
});
