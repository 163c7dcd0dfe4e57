// Listeners of a service of several processes, over Redis too: each is where its requests find what they need.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { redisStore } from "sluice/redis";
import { createPolicy } from "sluice/rules";
import { makeFolder, startRedis } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { ask, countOf, startLoad } from "./load.js";
import { rulesOf, useServe } from "./serve-fixture.js";
import { startUpstream } from "./upstream.js";

const { serve } = useServe();

async function post(url: string, body: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json().catch(() => undefined) };
}

describe("two workers", () => {
  it("answer Envoy under one limit, and the decision API settles what another call held", async () => {
    const folder = makeFolder("server");
    const file = join(folder, "ratelimit.yaml");
    writeFileSync(
      file,
      "domain: edge\ndescriptors:\n  - key: who\n    rate_limit: { unit: hour, requests_per_unit: 20 }\n",
    );
    const served = serve(2, rulesOf(10), {
      decision: { listen: "127.0.0.1:0" },
      envoy: { listen: "127.0.0.1:0", http: "127.0.0.1:0", files: [file] },
    });
    const { httpUrl } = await served.line(
      ({ msg, listener }) => msg === "listening" && listener === "envoy",
    );
    const asked = { domain: "edge", descriptors: [{ entries: [{ key: "who", value: "me" }] }] };
    const statuses: number[] = [];
    for (let i = 0; i < 30; i++) statuses.push((await post(`${httpUrl}/json`, asked)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);

    const decision = await served.url("decision");
    const call = { limit: "10/hour", key: "user:42", cost: 4 };
    const held = await post(`${decision}/v1/reserve`, call);
    const { id } = held.body as { id: string };
    expect((await post(`${decision}/v1/commit`, { id, cost: 1 })).status).toBe(200);
    const { body } = await post(`${decision}/v1/peek`, { limit: "10/hour", key: "user:42" });
    expect(body).toMatchObject({ remaining: 9 });
  });

  it("hold a limit over Redis, and leave behind exactly what they admitted", async () => {
    const redis = await startRedis();
    const store = { kind: "redis", url: `redis://127.0.0.1:${redis.port}`, timeoutMs: 1_000 };
    const served = serve(2, rulesOf(1_000), { store });
    const load = startLoad(await served.url("gateway"), { clients: 6 });
    await load.until(300);
    const tally = await load.stop();
    expect(tally.failures).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
    // What was leased and not spent has been returned.
    const client = new Redis(redis.port);
    const shared = { store: redisStore(client), timeoutMs: 10_000 };
    const policy = createPolicy({ rules: rulesOf(1_000), ...shared });
    expect(await policy.peek({ method: "GET", path: "/" })).toMatchObject({
      remaining: 1_000 - countOf(tally, 200),
      source: "store",
    });
    await policy.close();
    client.disconnect();
    await redis.stop();
  });

  it("share permits, and get them back when requests end", async () => {
    let release = () => {};
    let released = Promise.resolve();
    const slow = await startUpstream(() => released);
    const permits = { concurrency: { limit: 3, permitMs: 60_000 } };
    const rules = { version: 1, rules: [{ id: "slots", key: "global", limit: permits }] };
    const served = serve(2, rules, { upstreams: { app: { backends: [slow.url] } } });
    const gateway = await served.url("gateway");
    for (let round = 0; round < 2; round++) {
      released = new Promise((resolve) => {
        release = resolve;
      });
      const answers: (number | string)[] = [];
      const asking = Array.from({ length: 8 }, async () => {
        answers.push(await ask(gateway));
        // All that can be refused have been: the others go on.
        if (answers.length === 5) release();
      });
      await Promise.all(asking);
      expect(answers).toEqual([429, 429, 429, 429, 429, 200, 200, 200]);
    }
    await slow.close();
  });
});
