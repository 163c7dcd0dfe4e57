// When a change holds elsewhere: on another control node over the same database, and on a follower of that one. Times
// are from the answer of the change on.

import { isIP } from "node:net";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.js";
import type { ControlPlane } from "../../src/control/control-plane.js";
import { type Service, startService } from "../../src/service/service.js";
import { ADMIN_TOKEN, toControlConfig, toControlService } from "./control-config.js";
import { testDatabases } from "./databases.js";
import { bestMs, msUntil } from "./ms-until.js";

const CHANGE_MS_MAX = 2_000;
const SWITCH_MS_MAX = 1_000;
const RULE = "tenants";
const reason = "a test";
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason });

/** What a request with an API key, or from an address, meets: its limit, why it is refused, or nothing. */
async function standOf({ listeners }: Service, caller: string): Promise<number | string> {
  const url = listeners.find(({ name }) => name === "decision")?.url;
  const from = isIP(caller) === 0 ? { apiKey: caller } : { ip: caller };
  const response = await fetch(`${url}/v1/peek`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ facts: { method: "GET", path: "/", ...from }, results: true }),
  });
  const { allowed, reason, results } = (await response.json()) as Answer;
  return allowed ? (results[0]?.limit ?? "open") : reason;
}

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly results: readonly { readonly limit: number }[];
}

describe.each(all)("two control nodes over $name and a follower of the second", (databases) => {
  const services: Service[] = [];
  let plane: ControlPlane;
  /** Of a key of the tenant acme, which is on the plan pro. */
  let secret: string;

  beforeAll(async () => {
    const database = await databases.create();
    const here = await start(toConfig(database, "here"));
    if (here.control?.plane === undefined) throw new Error("it is not a control node");
    plane = here.control.plane;
    await plane.plans.put(by(), { id: "free", input: {} });
    await plane.plans.put(by(), { id: "pro", input: { tier: "gold" } });
    await plane.tenants.put(by(), { id: "acme", input: { plan: "pro" } });
    ({ secret } = await plane.apiKeys.create(by(), { tenant: "acme", name: "server" }));
    const there = await start(toConfig(database, "there"));
    await start(toFollower(there));
    await holds(secret, 9);
  });
  afterAll(async () => {
    for (const service of services.reverse()) await service.close();
  });

  async function start(config: Config): Promise<Service> {
    const service = await startService(config);
    services.push(service);
    return service;
  }

  /** Milliseconds until all nodes say the same of a caller; the first of them has to say it now. */
  async function holds(caller: string, stand: number | string): Promise<number> {
    const [here, ...others] = services;
    const now = standOf(here, caller);
    const tookMs = await msUntil(async () => {
      const stands = await Promise.all(others.map((node) => standOf(node, caller)));
      expect(stands).toEqual([stand, stand]);
    });
    expect(await now).toBe(stand);
    return tookMs;
  }

  it("refuse an API key that was revoked within 2 seconds", async () => {
    const tookMs = await bestMs(CHANGE_MS_MAX, async () => {
      const key = await plane.apiKeys.create(by(), { tenant: "acme", name: "leaked" });
      await holds(key.secret, 9);
      await plane.apiKeys.revoke(by(), key.id);
      return holds(key.secret, "unknown-api-key");
    });
    expect(tookMs).toBeLessThan(CHANGE_MS_MAX);
  });

  it("move a tenant to another plan, and give a plan other limits, within 2 seconds", async () => {
    const move = async (plan: string, limit: number) => {
      await plane.tenants.put(by(), { id: "acme", input: { plan } });
      return holds(secret, limit);
    };
    const change = async (limits: Readonly<Record<string, string>>, limit: number) => {
      await plane.plans.put(by(), { id: "pro", input: { tier: "gold", limits } });
      return holds(secret, limit);
    };
    const tookMs = await bestMs(CHANGE_MS_MAX, async () => {
      const moves = [await move("free", 5), await move("pro", 9)];
      const changes = [await change({ [RULE]: "20/minute" }, 20), await change({}, 9)];
      return Math.max(...moves, ...changes);
    });
    expect(tookMs).toBeLessThan(CHANGE_MS_MAX);
  });

  it("begin and end an override within 2 seconds", async () => {
    const input = { subject: "tenant:acme", rule: RULE, limit: "50/minute", reason };
    const tookMs = await bestMs(CHANGE_MS_MAX, async () => {
      const { id } = await plane.overrides.create(by(), input);
      const beginsMs = await holds(secret, 50);
      await plane.overrides.remove(by(), id);
      return Math.max(beginsMs, await holds(secret, 9));
    });
    expect(tookMs).toBeLessThan(CHANGE_MS_MAX);
  });

  it.each(["203.0.113.77", "2001:db8::77"])(
    "block a range of addresses and let it in again within 2 seconds: that of %s",
    async (ip) => {
      const subjects = ["ip:203.0.113.64/26", "ip:2001:db8::/64"];
      const others = ["203.0.113.63", "203.0.113.128", "2001:db8:0:1::77"];
      const tookMs = await bestMs(CHANGE_MS_MAX, async () => {
        const { id } = await plane.blocks.create(by(), { subjects, reason });
        const beginsMs = await holds(ip, "blocked");
        for (const other of others) await holds(other, 5);
        await plane.blocks.remove(by(), id);
        return Math.max(beginsMs, await holds(ip, 5));
      });
      expect(tookMs).toBeLessThan(CHANGE_MS_MAX);
    },
  );

  it.each([
    ["off", RULE, "open"],
    ["deny", RULE, "denied"],
    ["deny", "*", "denied"],
  ])("switch to %s, and on again, within a second: %s", async (state, id, stand) => {
    const tookMs = await bestMs(SWITCH_MS_MAX, async () => {
      await plane.switches.put(by(), { id, input: { state, reason } });
      const beginsMs = await holds(secret, stand);
      await plane.switches.remove(by(), id);
      return Math.max(beginsMs, await holds(secret, 9));
    });
    expect(tookMs).toBeLessThan(SWITCH_MS_MAX);
  });
});

function toConfig(database: string, node: string): Config {
  return toControlService(database, {
    control: toControlConfig(database, { node }),
    rules: {
      inline: {
        version: 1,
        rules: [{ id: RULE, key: "tenant", limit: "5/minute", tiers: { gold: "9/minute" } }],
      },
    },
    decision: {
      listen: { host: "127.0.0.1", port: 0 },
      tokens: [],
      forwardAuth: false,
      bodyBytesMax: 1_000,
    },
    apiKeys: { unknownKeys: "refuse", lookupsPerSecond: 100 },
  });
}

function toFollower({ listeners }: Service): Config {
  return {
    ...toConfig("", ""),
    control: {
      kind: "follow",
      url: listeners.find(({ name }) => name === "admin")?.url ?? "",
      token: ADMIN_TOKEN,
      caFile: undefined,
      snapshotFile: join(makeFolder("follower"), "edge.snapshot"),
      staleMsMax: undefined,
      node: "edge-1",
      hasRules: false,
    },
  };
}
