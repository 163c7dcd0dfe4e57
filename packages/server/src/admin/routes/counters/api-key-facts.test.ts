import { afterEach, describe, expect, it } from "vitest";
import { onStop, startGateway, startUpstream, stopAll } from "../../../../test/proxy-fixture.js";
import { openAdmin } from "../../admin.js";

afterEach(stopAll);

const RULE = {
  id: "api",
  match: { path: "/api/*" },
  key: "apiKey",
  limit: { fixedWindow: { limit: 3, windowMs: 3_600_000, align: "first" } },
};
const FACTS = { method: "GET", path: "/api/x" };

/** A gateway with keys in x-api-key, and the admin port of the same core. */
async function setUp(keySecret?: string, known: object = {}) {
  const upstream = await startUpstream((_request, response) => void response.end("ok"));
  const identity = { apiKey: {}, ...(keySecret === undefined ? {} : { keySecret }), ...known };
  const admin = { listen: { host: "127.0.0.1", port: 0 }, token: "operator" };
  const { url, core } = await startGateway(upstream, {
    rules: [RULE],
    config: { identity, admin },
  });
  const listener = await openAdmin(core, {
    isReady: () => ({ ready: true, reasons: [] }),
    reload: async () => {},
    metrics: () => core.telemetry.metrics(),
  });
  onStop(() => listener.close());
  const headers = { authorization: "Bearer operator", "content-type": "application/json" };
  return {
    statusOf: async (apiKey: string) =>
      (await fetch(`${url}/api/x`, { headers: { "x-api-key": apiKey } })).status,
    post: async (path: string, body: object) => {
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const response = await fetch(listener.url + path, init);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    top: async () => (await fetch(`${listener.url}/v1/top?keys=clear`, { headers })).text(),
  };
}

it.each([undefined, "a secret of the configuration"])(
  "blocks at the gateway whom a key in clear names, with the secret %j",
  async (keySecret) => {
    const { post, statusOf, top } = await setUp(keySecret);
    const facts = { ...FACTS, apiKey: " k77 " };
    const blocked = await post("/v1/block", { rule: "api", facts, forMs: null });
    expect(blocked.body.key).toMatch(/^apiKeyHash:[\w-]{22}$/);
    expect([await statusOf("k77"), await statusOf("k78")]).toEqual([429, 200]);
    await post("/v1/unblock", { rule: "api", key: blocked.body.key });
    expect(await statusOf("k77")).toBe(200);
    // One counter for the gateway and for what operators ask.
    expect((await post("/v1/check", { facts })).body).toMatchObject({ remaining: 1 });
    const apiKeyHash = String(blocked.body.key).slice("apiKeyHash:".length);
    const looked = await post("/v1/peek", { facts: { ...FACTS, apiKeyHash } });
    expect(looked.body).toMatchObject({ remaining: 1 });
    const explained = await post("/v1/explain", { facts });
    expect(explained.body).toMatchObject({ rules: [{ key: blocked.body.key }] });
    const shown = await top();
    expect(shown).toContain(apiKeyHash);
    expect(shown).not.toContain("k77");
  },
);

it("refuses a malformed hash, without repeating it", async () => {
  const { post } = await setUp();
  for (const body of [
    { rule: "api", key: "apiKeyHash:k9-in-clear" },
    { rule: "api", key: "apiKeyHash: k9-in-clear" },
    { rule: "api", facts: { ...FACTS, apiKeyHash: "k9-in-clear" } },
    { rule: "api", facts: { ...FACTS, apiKeyHash: "a".repeat(22), apiKey: "k9-in-clear" } },
  ]) {
    const { status, body: said } = await post("/v1/block", { ...body, forMs: null });
    expect([status, said.code]).toEqual([400, "SLUICE_REQUEST_INVALID"]);
    expect(said.detail).toContain("hash");
    expect(said.detail).not.toContain("k9-in-clear");
  }
});

describe("where a resolver knows API keys", () => {
  const FOUND = { id: "k7Id00000000", tenant: "acme", plan: "pro" };
  const keyResolver = {
    resolve: (key: string) =>
      key === "k77" ? FOUND : key === "k00" ? ("unchecked" as const) : undefined,
  };

  it("counts a key in clear as the gateway does, by what it stands for", async () => {
    const { post, statusOf, top } = await setUp(undefined, { keyResolver });
    const facts = { ...FACTS, apiKey: " k77 " };
    expect(await statusOf("k77")).toBe(200);
    const explained = await post("/v1/explain", { facts });
    const key = `apiKeyHash:${FOUND.id}`;
    expect(explained.body).toMatchObject({
      allowed: true,
      rules: [{ key, limits: [{ remaining: 2 }] }],
    });
    expect((await post("/v1/check", { facts })).body).toMatchObject({ remaining: 1 });
    expect((await post("/v1/peek", { facts })).body).toMatchObject({ remaining: 1 });
    expect((await post("/v1/block", { rule: "api", facts, forMs: null })).body.key).toBe(key);
    expect(await statusOf("k77")).toBe(429);
    expect(await top()).not.toContain("k77");
  });

  it.each([
    ["k9-not-known", "unknown-api-key", 400, "SLUICE_REQUEST_INVALID"],
    ["k00", "unchecked-api-key", 503, "SLUICE_CONTROL_UNAVAILABLE"],
  ])("refuses %s as the gateway does, without repeating it", async (apiKey, reason, code, name) => {
    const { post, statusOf } = await setUp(undefined, { keyResolver });
    const facts = { ...FACTS, apiKey };
    expect(await statusOf(apiKey)).toBe(401);
    for (const verb of ["explain", "peek", "check"]) {
      const { body } = await post(`/v1/${verb}`, { facts });
      expect(body).toMatchObject({ allowed: false, reason });
      expect(JSON.stringify(body)).not.toContain(apiKey);
    }
    const { status, body } = await post("/v1/block", { rule: "api", facts, forMs: null });
    expect([status, body.code]).toEqual([code, name]);
    expect(body.detail).not.toContain(apiKey);
  });
});
