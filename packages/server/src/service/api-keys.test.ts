// A service that resolves the API keys of its control plane.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { msUntil } from "../../test/control/ms-until.js";
import type { Config } from "../config/config.js";
import type { ControlPlane } from "../control/control-plane.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { type Service, type ServiceOptions, startService } from "./service.js";

const all = testDatabases();
const services: Service[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

async function start(database: string): Promise<{ service: Service; plane: ControlPlane }> {
  const service = await open(toConfig(database));
  if (service.control?.plane === undefined) throw new Error("it is not a control node");
  return { service, plane: service.control.plane };
}

async function open(config: Config, options?: ServiceOptions): Promise<Service> {
  const service = await startService(config, options);
  services.push(service);
  return service;
}

function toConfig(database: string): Config {
  return toControlService(database, {
    rules: {
      inline: {
        version: 1,
        rules: [
          { id: "tenants", key: "tenant", limit: "5/minute", tiers: { gold: "9/minute" } },
          { id: "keys", key: "apiKey", limit: "2/minute" },
          {
            id: "bulk",
            match: { attributes: { scope: "bulk" } },
            key: "tenant",
            limit: "1/minute",
          },
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
  });
}

/** A service that follows a control node. */
function toFollower(url: string, token: string): Config {
  const snapshotFile = join(makeFolder("follower"), "edge.snapshot");
  const follow = { kind: "follow", url, token, snapshotFile } as const;
  const rest = { caFile: undefined, staleMsMax: undefined, node: "edge-1", hasRules: false };
  return { ...toConfig(""), control: { ...follow, ...rest } };
}

/** As the admin port shows it. */
async function lastUseOf({ listeners }: Service, id: string): Promise<unknown> {
  const url = listeners.find(({ name }) => name === "admin")?.url;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const response = await fetch(`${url}/v1/api-keys/${id}`, { headers });
  return ((await response.json()) as { lastUsedAtMs?: unknown }).lastUsedAtMs;
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

/** The secret with another last character than its own. */
function mistype(secret: string): string {
  return secret.slice(0, -1) + (secret.endsWith("x") ? "y" : "x");
}

async function makeTenant({ plans, tenants }: ControlPlane): Promise<void> {
  await plans.put(by(), { id: "pro", input: { tier: "gold" } });
  await tenants.put(by(), { id: "acme", input: { plan: "pro" } });
}

describe.each(all)("API keys of a control node with $name", (databases) => {
  it("work from their creation on, also on a node that has not heard of them, and end within 2 seconds of their revocation", async () => {
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
    const tookMs = await msUntil(async () =>
      expect(await check(there.service, key.secret)).toMatchObject(revoked),
    );
    expect(tookMs).toBeLessThan(2_000);
    expect(await check(here.service, mistype(key.secret))).toMatchObject(revoked);
  });

  it("are limited by rules about their scopes, on a control node and on its follower", async () => {
    const { service, plane } = await start(await databases.create());
    await makeTenant(plane);
    const make = (name: string, scopes: string[]) =>
      plane.apiKeys.create(by(), { tenant: "acme", name, scopes });
    const bulk = await make("bulk", ["read", "bulk"]);
    const plain = await make("plain", ["read"]);
    await plane.accessTokens.createFirst(by());
    const { secret } = await plane.accessTokens.create(by(), { name: "edge", role: "node" });
    const url = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const follower = await open(toFollower(url, secret));
    for (const node of [service, follower]) {
      expect(await check(node, bulk.secret)).toMatchObject({
        allowed: true,
        results: [{ rule: "tenants" }, { rule: "keys" }, { rule: "bulk", limit: 1 }],
      });
      expect(await check(node, bulk.secret)).toMatchObject({ allowed: false, rule: "bulk" });
      const { results } = await check(node, plain.secret);
      expect(results).toMatchObject([{ rule: "tenants" }, { rule: "keys" }]);
    }
  });

  it("are shown with the hour of their last use, of a control node and of a follower, once those have ended", async () => {
    const database = await databases.create();
    const user = await start(database);
    await makeTenant(user.plane);
    const make = (name: string) => user.plane.apiKeys.create(by(), { tenant: "acme", name });
    const [here, there, unused] = [await make("here"), await make("there"), await make("unused")];
    await user.plane.accessTokens.createFirst(by());
    const { secret } = await user.plane.accessTokens.create(by(), { name: "edge", role: "node" });
    const shower = await start(database);
    const url = shower.service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const follower = await open(toFollower(url, secret));
    const startMs = Date.now();
    expect(await check(user.service, here.secret)).toMatchObject({ allowed: true });
    expect(await check(follower, there.secret)).toMatchObject({ allowed: true });
    expect(await check(follower, mistype(unused.secret))).toMatchObject({
      allowed: false,
    });
    await user.service.close();
    await follower.close();
    const hours = [startMs, Date.now()].map((ms) => ms - (ms % 3_600_000));
    expect(hours).toContain(await lastUseOf(shower.service, here.id));
    expect(hours).toContain(await lastUseOf(shower.service, there.id));
    expect(await lastUseOf(shower.service, unused.id)).toBeNull();
  });

  it("are reported as used by nodes only, a thousand at a time", async () => {
    const { service, plane } = await start(await databases.create());
    const url = service.listeners.find(({ name }) => name === "admin")?.url;
    await plane.accessTokens.createFirst(by());
    const make = (role: string) => plane.accessTokens.create(by(), { name: role, role });
    const [node, viewer] = [await make("node"), await make("viewer")];
    const report = async (secret: string, count: number, hour: unknown = 400_000) => {
      const ids = Array.from({ length: count }, (_, n) => `key${n}`);
      const uses = Object.fromEntries(ids.map((id) => [id, hour]));
      const response = await fetch(`${url}/v1/control/report`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({ node: "edge-1", version: "1.0.0", sequence: 1, uses }),
      });
      return response.status;
    };
    expect(await report(node.secret, 1_000)).toBe(200);
    expect(await report(node.secret, 1_001)).toBe(400);
    expect(await report(node.secret, 1, "now")).toBe(400);
    expect(await report(node.secret, 1, -1)).toBe(400);
    expect(await report(viewer.secret, 1)).toBe(403);
  });

  it("need no restart when a reload finds them configured as before", async () => {
    const config = toConfig(await databases.create());
    const telemetry = silentTelemetry();
    const warn = vi.spyOn(telemetry.log, "warn");
    const loadConfig = () => ({ ...config, drainMs: config.drainMs + 1 });
    const service = await open(config, { telemetry, loadConfig });
    await service.reload();
    const waiting = warn.mock.calls.filter(([, what]) => what === "changed values need a restart");
    expect(waiting.map(([values]) => values)).toEqual([{ waiting: ["server.drainMs"] }]);
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
