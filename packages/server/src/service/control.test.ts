// A service with a control plane: where its rules come from, at the start and later.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { sluice } from "../../test/cli/fake-terminal.js";
import {
  ADMIN_TOKEN,
  toControlConfig,
  toControlService,
} from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import type { Config, FollowControlConfig } from "../config/config.js";
import type { ControlPlane } from "../control/control-plane.js";
import { type Service, type ServiceOptions, startService } from "./service.js";

const all = testDatabases();
const services: Service[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const textOf = (limit: number) => `version: 1
rules:
  - { id: a, key: ip, limit: { fixedWindow: { limit: ${limit}, windowMs: 60000, align: first } } }
`;

const DECISION = {
  listen: { host: "127.0.0.1", port: 0 },
  tokens: [],
  forwardAuth: true,
  bodyBytesMax: 1_000,
};

/** A service that follows a control node. */
function toFollowerService(url: string, token: string): Config {
  const database = toControlService("");
  const control: FollowControlConfig = {
    kind: "follow",
    url,
    token,
    caFile: undefined,
    snapshotFile: join(makeFolder("follower"), "edge.snapshot"),
    staleMsMax: undefined,
    node: "edge-1",
    hasRules: false,
  };
  return { ...database, control };
}

function urlOf({ listeners }: Service): string {
  return listeners.find(({ name }) => name === "admin")?.url ?? "";
}

async function start(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const service = await startService(config, options);
  services.push(service);
  return service;
}

function planeOf(service: Service): ControlPlane {
  if (service.control?.plane === undefined) throw new Error("it is not a control node");
  return service.control.plane;
}

/** Publishes rules by a control node. */
async function publish({ ruleSets }: ControlPlane, text: string): Promise<void> {
  const draft = await ruleSets.createDraft(by(), text);
  const expected = (await ruleSets.published())?.number ?? 0;
  await ruleSets.publish(by(), { number: draft.number, note: "", expected });
}

async function remainingOf(service: Service): Promise<number | undefined> {
  const facts = { method: "GET", path: "/", ip: "203.0.113.9" };
  const { remaining } = await service.core.policy.admit(facts);
  return remaining;
}

describe.each(all)("a control node with $name", (databases) => {
  it("publishes the configured rules as version 1, and from then on the database decides", async () => {
    const url = await databases.create();
    const service = await start(toControlService(url));
    const plane = planeOf(service);
    expect(await plane.ruleSets.published()).toMatchObject({
      number: 1,
      note: "from the configuration",
    });
    expect(service.core.policy.rules.rules.map(({ id }) => id)).toEqual(["per-address"]);
    await publish(plane, textOf(7));
    expect(service.core.policy.rules.rules.map(({ id }) => id)).toEqual(["a"]);
    await service.close();
    const again = await start(toControlService(url));
    expect(again.core.policy.rules.rules.map(({ id }) => id)).toEqual(["a"]);
    expect(await planeOf(again).verifyAudit()).toEqual({ rows: 4 });
  });

  it("enforces plans, overrides, blocks, suspended tenants and switches when the change resolves", async () => {
    const service = await start(toControlService(await databases.create()));
    const plane = planeOf(service);
    const rule = "{ id: a, key: tenant, limit: 1/hour, tiers: { gold: 2/hour } }";
    await publish(plane, `version: 1\nrules:\n  - ${rule}\n`);
    const { policy } = service.core;
    const standOf = async (caller: object) => {
      const { allowed, reason, limit } = await policy.peek({ method: "GET", path: "/", ...caller });
      return allowed ? limit : reason;
    };
    const acme = { tenant: "acme", plan: "pro", tier: "gold" };
    expect(await standOf(acme)).toBe(2);
    await plane.plans.put(by(), { id: "pro", input: { tier: "gold", limits: { a: "3/hour" } } });
    expect(await standOf(acme)).toBe(3);
    const reason = "a test";
    const other = { subject: "tenant:acme", rule: "a", limit: "4/hour", reason };
    const override = await plane.overrides.create(by(), other);
    expect(await standOf(acme)).toBe(4);
    expect(await standOf({ tenant: "other", plan: "pro" })).toBe(3);
    await plane.overrides.remove(by(), override.id);
    expect(await standOf(acme)).toBe(3);

    const block = await plane.blocks.create(by(), { subjects: ["ip:10.0.0.0/8"], reason });
    expect(await standOf({ ...acme, ip: "10.1.2.3" })).toBe("blocked");
    expect(await standOf({ ...acme, ip: "11.1.2.3" })).toBe(3);
    await plane.blocks.remove(by(), block.id);
    expect(await standOf({ ...acme, ip: "10.1.2.3" })).toBe(3);

    expect(await standOf({ tenant: "acme" })).toBe(1);
    await plane.tenants.put(by(), { id: "acme", input: { plan: "pro" } });
    expect(await standOf({ tenant: "acme" })).toBe(3);

    await plane.tenants.put(by(), { id: "acme", input: { status: "suspended" } });
    expect(await standOf(acme)).toBe("blocked");
    await plane.tenants.put(by(), { id: "acme", input: { status: "active" } });
    expect(await standOf(acme)).toBe(3);

    await plane.switches.put(by(), { id: "a", input: { state: "deny", reason } });
    expect(await standOf(acme)).toBe("denied");
    await plane.switches.put(by(), { id: "*", input: { state: "off", reason } });
    expect(await standOf(acme)).toBe("denied");
    await plane.switches.remove(by(), "a");
    expect(await standOf(acme)).toBe(Number.POSITIVE_INFINITY);
    await plane.switches.remove(by(), "*");
    expect(await standOf(acme)).toBe(3);
  });

  it("refuses to publish rules that an override does not fit, and goes on with what it has", async () => {
    const service = await start(toControlService(await databases.create()));
    const plane = planeOf(service);
    await publish(plane, "version: 1\nrules:\n  - { id: a, key: tenant, limit: 1/hour }\n");
    const limit = { leakyBucket: { ratePerSecond: 1, queueSize: 5 } };
    await plane.overrides.create(by(), { subject: "tenant:acme", rule: "a", limit, reason: "x" });
    const leased = "{ id: a, key: tenant, limit: 1/hour, consistency: leased }";
    await expect(publish(plane, `version: 1\nrules:\n  - ${leased}\n`)).rejects.toThrow("leased");
    expect(service.core.policy.rules.rules[0]).toMatchObject({ consistency: "strict" });
  });

  it("makes the first access token once, when an operator can be shown it", async () => {
    const url = await databases.create();
    const first = vi.fn();
    await (await start(toControlService(url))).close();
    const service = await start(toControlService(url), { onFirstToken: first });
    const second = vi.fn();
    await start(toControlService(url), { onFirstToken: second });
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 0]);
    const tokens = planeOf(service).accessTokens;
    expect(await tokens.check(first.mock.calls[0]?.[0])).toMatchObject({ role: "admin" });
  });

  it("takes changes over its admin port from the first access token, and enforces them before it answers", async () => {
    const onFirstToken = vi.fn();
    const admin = { listen: { host: "127.0.0.1", port: 0 }, token: undefined };
    const config = toControlService(await databases.create(), { admin });
    const service = await start(config, { onFirstToken });
    const url = service.listeners.find(({ name }) => name === "admin")?.url;
    const ask = (path: string, body: object, token: string) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    expect((await fetch(`${url}/v1/rules`)).status).toBe(401);
    const token = onFirstToken.mock.calls[0]?.[0];
    expect((await ask("/v1/rule-sets", { text: textOf(7) }, token)).status).toBe(201);
    expect((await ask("/v1/rule-sets/2/publish", { note: "seven" }, token)).status).toBe(200);
    expect(service.core.policy.rules.rules.map(({ id }) => id)).toEqual(["a"]);
  });

  it("refuses an access token that another control node revoked, within two seconds", async () => {
    const url = await databases.create();
    const [one, two] = [await start(toControlService(url)), await start(toControlService(url))];
    const { accessTokens } = planeOf(one);
    await accessTokens.createFirst(by());
    const token = await accessTokens.create(by(), { name: "ci", role: "viewer" });
    const headers = { authorization: `Bearer ${token.secret}` };
    const statuses = () =>
      Promise.all(
        [one, two].map(async ({ listeners }) => {
          const admin = listeners.find(({ name }) => name === "admin")?.url;
          return (await fetch(`${admin}/v1/rules`, { headers })).status;
        }),
      );
    await vi.waitFor(async () => expect(await statuses()).toEqual([200, 200]), 20_000);
    await accessTokens.revoke(by(), token.id);
    expect((await statuses())[0]).toBe(401);
    await vi.waitFor(async () => expect(await statuses()).toEqual([401, 401]), 2_000);
  });

  it("has what another control node publishes within two seconds, and keeps what is used", async () => {
    const url = await databases.create();
    const [one, two] = [await start(toControlService(url)), await start(toControlService(url))];
    await publish(planeOf(one), textOf(10));
    await vi.waitFor(() => expect(two.core.policy.rules.rules[0]?.id).toBe("a"), 20_000);
    await remainingOf(two);
    expect(await remainingOf(two)).toBe(8);
    await publish(planeOf(one), textOf(5));
    await vi.waitFor(() => {
      expect(two.core.policy.rules.rules[0]?.limits[0]).toMatchObject({ capacity: 5 });
    }, 2_000);
    expect(await remainingOf(two)).toBe(2);
  });

  it("keeps its rules when another node publishes what it can't use, and does not publish that itself", async () => {
    const url = await databases.create();
    const other = await start(toControlService(url));
    const blind = await start(toControlService(url, { decision: DECISION }));
    const permits = `version: 1
rules: [{ id: p, limit: { concurrency: { limit: 1, permitMs: 1000 } } }]
`;
    await expect(publish(planeOf(blind), permits)).rejects.toThrow('rule "p"');
    await publish(planeOf(other), permits);
    await blind.control?.catchUp();
    expect(blind.core.policy.rules.rules[0]?.id).toBe("per-address");
    expect(await blind.core.telemetry.metrics()).toContain(
      'rate_limiter_reload_failed{what="rules",region="local"} 1',
    );
    await publish(planeOf(other), textOf(3));
    await blind.control?.catchUp();
    expect(blind.core.policy.rules.rules[0]?.id).toBe("a");
  });
});

it.each(all)(
  "says at a reload that the rules of the configuration are not used: $name",
  async ({ create }) => {
    const config = toControlService(await create());
    const service = await start(config);
    const warn = vi.spyOn(service.core.telemetry.log, "warn");
    const reload = () => {
      const env = { SLUICE_ADMIN: urlOf(service), SLUICE_ADMIN_TOKEN: ADMIN_TOKEN };
      return sluice(["reload"], { env });
    };
    const { code, out, err } = await reload();
    expect([code, out]).toEqual([0, expect.stringContaining("reloaded: rules of version")]);
    expect(err).toContain("the rules of the configuration are not used");
    expect(err).toContain("sluice rules push FILE --publish");
    expect(warn.mock.calls.flat()).toContainEqual(
      expect.stringContaining("the rules of the configuration are not used"),
    );
  },
);

it.each(all)(
  "says nothing of rules at a reload without any in the configuration: $name",
  async ({ create }) => {
    const control = toControlConfig(await create(), { hasRules: false });
    const service = await start(toControlService("", { control }));
    const env = { SLUICE_ADMIN: urlOf(service), SLUICE_ADMIN_TOKEN: ADMIN_TOKEN };
    expect((await sluice(["reload"], { env })).err).toBe("");
  },
);

describe("a control node without its database", () => {
  // An SQLite file has no server that could be away.
  const nowhere = "postgres://sluice@127.0.0.1:9/none";

  it.each(all)(
    "starts from its snapshot of $name, and reports its age in readiness if it may not be too old",
    async ({ create }) => {
      const before = toControlService(await create());
      const first = await start(before);
      await publish(planeOf(first), textOf(4));
      await first.close();
      const { snapshotFile = "" } = before.control ?? {};
      expect(existsSync(snapshotFile)).toBe(true);
      const control = toControlConfig(nowhere, { snapshotFile, staleMsMax: 600_000 });
      const service = await start({ ...before, control });
      expect(service.core.policy.rules.rules[0]?.id).toBe("a");
      expect(service.unreadyReasons).toEqual([]);
      await service.close();
      const strict = await start({ ...before, control: { ...control, staleMsMax: 1 } });
      expect(strict.unreadyReasons).toEqual([
        "the control plane has not been reached for 1 ms (control.staleMsMax)",
      ]);
    },
  );

  it("and without a snapshot does not start, and says what to do", async () => {
    const control = toControlConfig(nowhere, { snapshotFile: "/nowhere/node.snapshot" });
    await expect(start({ ...toControlService(nowhere), control })).rejects.toThrow(
      "the control plane does not answer: the database (control.database) can't be reached (the database does not answer: " +
        "connect ECONNREFUSED 127.0.0.1:9), and there is no snapshot at /nowhere/node.snapshot to start from; start the database first",
    );
  });
});

describe.each(all)("a follower of a control node with $name", (databases) => {
  it("decides by what is published there, over the admin port, and is one of its nodes", async () => {
    const control = await start(toControlService(await databases.create()));
    const plane = planeOf(control);
    await plane.accessTokens.createFirst(by());
    const token = await plane.accessTokens.create(by(), { name: "edge", role: "node" });
    const { id, secret } = token;
    const follower = await start(toFollowerService(urlOf(control), secret));
    expect(follower.core.policy.rules.rules.map(({ id }) => id)).toEqual(["per-address"]);
    await remainingOf(follower);
    await publish(plane, textOf(10));
    await vi.waitFor(() => expect(follower.core.policy.rules.rules[0]?.id).toBe("a"), 20_000);
    const ask = async (service: Service, path: string, token = ADMIN_TOKEN) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${urlOf(service)}${path}`, { headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const { body } = await ask(control, "/v1/nodes");
    expect(body.items).toMatchObject([
      { name: "node-1", kind: "control", behind: 0, isAway: false },
      { name: "edge-1", kind: "follower", isAway: false, via: "node-1" },
    ]);
    const metrics = await control.core.telemetry.metrics();
    expect(metrics).toContain('rate_limiter_control_followers{region="local"} 1');
    expect(metrics).toMatch(/rate_limiter_control_sequence\{region="local"\} \d+/);
    expect(await follower.core.telemetry.metrics()).toMatch(
      /rate_limiter_control_age_seconds\{region="local"\} \d/,
    );
    // Access tokens hold on every node, and a node's token opens the feed only.
    expect(await ask(follower, "/v1/rules", secret)).toMatchObject({ status: 403 });
    expect(await ask(follower, "/v1/plans")).toMatchObject({
      status: 409,
      body: { code: "SLUICE_NOT_CONTROL_NODE" },
    });
    expect(await ask(follower, "/v1/nodes")).toMatchObject({
      body: { items: [{ name: "edge-1", kind: "follower" }] },
    });
    // A stream does not outlive its token, and the node continues with what it has.
    await plane.accessTokens.revoke(by(), id);
    await vi.waitFor(() => expect(control.control?.feedServer?.streams.count).toBe(0), 20_000);
    await publish(plane, textOf(20));
    await remainingOf(follower);
    expect(follower.core.policy.rules.rules[0]?.limits).toMatchObject([{ capacity: 10 }]);
  });
});
