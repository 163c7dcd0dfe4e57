// A service that resolves the API keys of its control plane.

import { afterAll, afterEach, describe, expect, it } from "vitest";
import { toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import type { ControlPlane } from "../control/control-plane.js";
import { type Service, startService } from "./service.js";

const all = testDatabases();
const services: Service[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

async function start(database: string): Promise<{ service: Service; plane: ControlPlane }> {
  const service = await startService(
    toControlService(database, {
      rules: {
        inline: {
          version: 1,
          rules: [
            { id: "tenants", key: "tenant", limit: "5/minute", tiers: { gold: "9/minute" } },
            { id: "keys", key: "apiKey", limit: "2/minute" },
          ],
        },
      },
      decision: {
        listen: { host: "127.0.0.1", port: 0 },
        tokens: [],
        forwardAuth: true,
        bodyBytesMax: 1_000,
      },
      apiKeys: { unknownKeys: "refuse", lookupsPerSecond: 100 },
    }),
  );
  services.push(service);
  if (service.control?.plane === undefined) throw new Error("it is not a control node");
  return { service, plane: service.control.plane };
}

async function check({ listeners }: Service, apiKey: string): Promise<Record<string, unknown>> {
  const url = listeners.find(({ name }) => name === "decision")?.url;
  const response = await fetch(`${url}/v1/check`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ facts: { method: "GET", path: "/", apiKey }, results: true }),
  });
  return (await response.json()) as Record<string, unknown>;
}

async function makeTenant({ plans, tenants }: ControlPlane): Promise<void> {
  await plans.put(by(), { id: "pro", input: { tier: "gold" } });
  await tenants.put(by(), { id: "acme", input: { plan: "pro" } });
}

describe.each(all)("API keys of a control node with $name", (databases) => {
  it("work from their creation on, also on a node that has not heard of them, until they are revoked", async () => {
    const database = await databases.create();
    const here = await start(database);
    await makeTenant(here.plane);
    const there = await start(database);
    const key = await here.plane.apiKeys.create(by(), { tenant: "acme", name: "server" });
    expect(await check(there.service, key.secret)).toMatchObject({ allowed: true });
    expect(await check(here.service, key.secret)).toMatchObject({
      allowed: true,
      results: [
        { rule: "tenants", limit: 9 },
        { rule: "keys", limit: 2 },
      ],
    });
    const revoked = { allowed: false, reason: "unknown-api-key" };
    await here.plane.apiKeys.revoke(by(), key.id);
    expect(await check(here.service, key.secret)).toMatchObject(revoked);
    await expect
      .poll(() => check(there.service, key.secret), { timeout: 2_000 })
      .toMatchObject(revoked);
    expect(await check(here.service, `${key.secret.slice(0, -1)}x`)).toMatchObject(revoked);
  });

  it("keep what was used when they are rotated", async () => {
    const { service, plane } = await start(await databases.create());
    await makeTenant(plane);
    const old = await plane.apiKeys.create(by(), { tenant: "acme", name: "server" });
    expect(await check(service, old.secret)).toMatchObject({ allowed: true });
    const fresh = await plane.apiKeys.rotate(by(), { id: old.id, overlapMs: 60_000 });
    expect(await check(service, fresh.secret)).toMatchObject({ allowed: true });
    expect(await check(service, fresh.secret)).toMatchObject({ allowed: false, rule: "keys" });
    expect(await check(service, old.secret)).toMatchObject({ allowed: false, rule: "keys" });
  });
});
