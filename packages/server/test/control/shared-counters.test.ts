// Two nodes that count in one Redis, and one of several processes: plans, overrides, blocks and switches hold on all of
// them, and what was used before an exception counts under it.

import { join } from "node:path";
import { makeFolder, type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Config, FollowControlConfig } from "../../src/config/config.js";
import { type Service, startService } from "../../src/service/service.js";
import { useServe } from "../lifecycle/serve-fixture.js";
import { ADMIN_TOKEN, toControlService } from "./control-config.js";
import { testDatabases } from "./databases.js";
import { msUntil } from "./ms-until.js";

const { serve } = useServe();
const all = testDatabases();
const services: Service[] = [];
let redis: RedisProcess;
beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(() => redis.command("FLUSHALL"));
afterEach(async () => {
  for (const service of services.splice(0).reverse()) await service.close();
});
afterAll(async () => {
  await redis.stop();
  await Promise.all(all.map((each) => each.stop()));
});

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const reason = "a test";
/** Thirty days hardly turn during a test. */
const LIMIT = { fixedWindow: { limit: 10, windowMs: 30 * 86_400_000 } };
const RULES = { version: 1, rules: [{ id: "a", key: "tenant", limit: LIMIT }] };
const limitOf = (limit: number) => ({ fixedWindow: { ...LIMIT.fixedWindow, limit } });

async function start(changes: Partial<Config>, database = ""): Promise<Service> {
  const service = await startService(
    toControlService(database, {
      store: {
        kind: "redis",
        url: `redis://127.0.0.1:${redis.port}`,
        onStoreFailure: "closed",
        keyPrefix: undefined,
        timeoutMs: 5_000,
        failReadiness: false,
      },
      rules: { inline: RULES },
      ...changes,
    }),
  );
  services.push(service);
  return service;
}

function followerOf({ listeners }: Service): FollowControlConfig {
  return {
    kind: "follow",
    url: listeners.find(({ name }) => name === "admin")?.url ?? "",
    token: ADMIN_TOKEN,
    caFile: undefined,
    snapshotFile: join(makeFolder("follower"), "edge.snapshot"),
    staleMsMax: undefined,
    node: "edge-1",
    hasRules: false,
  };
}

const acme = { method: "GET", path: "/", tenant: "acme", plan: "pro" };

/** What is left of the budget of acme, or why it is refused. */
async function standOf({ core }: Service): Promise<number | string | undefined> {
  const { allowed, reason, remaining } = await core.policy.peek(acme);
  return allowed ? remaining : reason;
}

describe.each(all)("two nodes over $name that count in Redis", (databases) => {
  it("agree on what is left under each exception, on blocks and on switches, within 2 seconds", async () => {
    const control = await start({}, await databases.create());
    const follower = await start({ control: followerOf(control) });
    const nodes = [control, follower];
    const plane = control.control?.plane;
    if (plane === undefined) throw new Error("it is not a control node");
    const bothSay = async (expected: number | string) => {
      const tookMs = await msUntil(async () =>
        expect(await Promise.all(nodes.map(standOf))).toEqual([expected, expected]),
      );
      expect(tookMs).toBeLessThan(2_000);
    };
    for (let n = 0; n < 6; n++) await control.core.policy.admit(acme);
    for (let n = 0; n < 2; n++) await follower.core.policy.admit(acme);
    await bothSay(2);
    // The plan gives more, and what was used before counts.
    await plane.plans.put(by(), { id: "pro", input: { limits: { a: limitOf(20) } } });
    await bothSay(12);
    const input = { subject: "tenant:acme", rule: "a", limit: limitOf(15), reason };
    const override = await plane.overrides.create(by(), input);
    await bothSay(7);
    for (let n = 0; n < 7; n++) await follower.core.policy.admit(acme);
    expect((await control.core.policy.admit(acme)).allowed).toBe(false);
    await plane.overrides.remove(by(), override.id);
    await bothSay(5);
    const block = await plane.blocks.create(by(), { subjects: ["tenant:acme"], reason });
    await bothSay("blocked");
    await plane.blocks.remove(by(), block.id);
    await plane.switches.put(by(), { id: "a", input: { state: "deny", reason } });
    await bothSay("denied");
    await plane.switches.remove(by(), "a");
    await bothSay(5);
  });
});

describe.each(all)("a service with $name", (databases) => {
  it("of two workers that count in Redis carries what was used into an override, and refuses who is blocked", async () => {
    const served = serve(2, RULES, {
      control: { database: await databases.create() },
      identity: { apiKeys: "control" },
      store: { kind: "redis", url: `redis://127.0.0.1:${redis.port}`, timeoutMs: 2_000 },
    });
    const [gateway, admin] = [await served.url("gateway"), await served.url("admin")];
    const headers = {
      authorization: `Bearer ${served.text.at(-1)?.trim()}`,
      "content-type": "application/json",
    };
    const send = async (method: string, path: string, body: object) => {
      const sent = { method, headers, body: JSON.stringify(body) };
      const response = await fetch(`${admin}${path}`, sent);
      expect([path, response.ok]).toEqual([path, true]);
      return (await response.json()) as Record<string, unknown>;
    };
    await send("PUT", "/v1/tenants/acme", {});
    const key = await send("POST", "/v1/api-keys", { tenant: "acme", name: "shop" });
    /** One request on a connection of its own, so that both workers answer some. */
    const ask = async () => {
      const sent = { "x-api-key": String(key.secret), connection: "close" };
      const response = await fetch(gateway, { headers: sent });
      await response.arrayBuffer();
      return response.status;
    };
    const count = async (requests: number) => {
      const statuses: number[] = [];
      for (let n = 0; n < requests; n++) statuses.push(await ask());
      return statuses.filter((status) => status === 200).length;
    };
    expect(await count(14)).toBe(10);
    const override = { subject: "tenant:acme", rule: "a", limit: limitOf(16), reason };
    await send("POST", "/v1/overrides", override);
    expect(await count(10)).toBe(6);
    await send("POST", "/v1/blocks", { subjects: ["tenant:acme"], reason });
    expect(await count(6)).toBe(0);
  });
});
