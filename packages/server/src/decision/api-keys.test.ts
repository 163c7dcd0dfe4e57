// API keys in facts, where the service resolves them.

import type { KeyAnswer } from "sluice/api-keys";
import { afterEach, describe, expect, it } from "vitest";
import { openTestListener, type TestListener } from "../../test/decision-listener.js";

let test: TestListener;
afterEach(() => test.close());

const KEYS: Readonly<Record<string, KeyAnswer>> = {
  "key-a": { id: "a", tenant: "acme", tier: "pro", attributes: { region: "eu" } },
  "key-b": { id: "b", tenant: "beta" },
};

async function open(unknownKeys: "refuse" | "anonymous" = "refuse") {
  const asked: string[] = [];
  const resolve = (key: string) => {
    asked.push(key);
    return key === "key-b" ? Promise.resolve(KEYS[key]) : KEYS[key];
  };
  test = await openTestListener({
    rules: [
      { id: "tenants", key: "tenant", limit: "1/minute", tiers: { pro: "2/minute" } },
      { id: "addresses", key: "ip", limit: "3/minute", onMissing: "skip" },
    ],
    config: { apiKeys: { unknownKeys, lookupsPerSecond: 100 } },
    keyResolver: { resolve },
  });
  return asked;
}

const factsOf = (apiKey: string, more: object = {}) => ({
  facts: { method: "GET", path: "/", apiKey, ...more },
});

describe("an API key in facts", () => {
  it("stands for its tenant and tier, whatever the caller says of them", async () => {
    await open();
    const check = async (key: string, more?: object) =>
      (await test.post("/v1/check", factsOf(key, more))).body;
    expect(await check("key-a", { tenant: "other", tier: "none" })).toMatchObject({ limit: 2 });
    expect(await check("key-a")).toMatchObject({ allowed: true, remaining: 0 });
    expect(await check("key-a")).toMatchObject({ allowed: false, reason: "limit" });
    expect(await check("key-b")).toMatchObject({ allowed: true, limit: 1 });
    expect(await check("key-b")).toMatchObject({ allowed: false, rule: "tenants" });
  });

  it("that is unknown is refused by every verb, after the rules by address", async () => {
    const asked = await open();
    const request = factsOf("key-x", { ip: "203.0.113.7" });
    for (const path of ["/v1/check", "/v1/reserve", "/v1/check"]) {
      const { status, body } = await test.post(path, request);
      expect(status).toBe(200);
      expect(body).toMatchObject({ allowed: false, reason: "unknown-api-key", retryAfterMs: null });
    }
    const flood = await test.post("/v1/check", request);
    expect(flood.body).toMatchObject({ allowed: false, rule: "addresses", reason: "limit" });
    expect(asked).toHaveLength(3);
    const peeked = await test.post("/v1/peek", request);
    expect(peeked.body).toMatchObject({ allowed: false, reason: "unknown-api-key" });
    const explained = await test.post("/v1/explain", request);
    expect(explained.body).toMatchObject({ allowed: false, reason: "unknown-api-key" });
    expect(JSON.stringify([flood, peeked, explained])).not.toContain("key-x");
  });

  it("that is unknown counts as none if the configuration says so", async () => {
    await open("anonymous");
    const { body } = await test.post("/v1/check", factsOf("key-x", { ip: "203.0.113.7" }));
    expect(body).toMatchObject({ allowed: true });
  });

  it("is resolved in batches too, one by one", async () => {
    await open();
    const requests = [factsOf("key-a"), factsOf("key-x"), factsOf("key-b")];
    const { body } = await test.post("/v1/check", { requests });
    expect(body.answers).toMatchObject([
      { allowed: true, limit: 2 },
      { allowed: false, reason: "unknown-api-key" },
      { allowed: true, limit: 1 },
    ]);
  });
});
