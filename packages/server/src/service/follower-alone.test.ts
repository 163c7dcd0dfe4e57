// A follower whose control node is stopped goes on with what it has, says how old that is, and catches up when the
// control node is back.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  ADMIN_TOKEN,
  toControlConfig,
  toControlService,
} from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { type LastingAddress, openLastingAddress } from "../../test/control/lasting-address.js";
import type { Config } from "../config/config.js";
import { fillFromSystem, makeSecret } from "../control/secret-format.js";
import { type Service, startService } from "./service.js";

/** Longer than the time between two heartbeats, so that a follower which is connected becomes ready. */
const STALE_MS_MAX = 2_500;
const WAIT = { timeout: 60_000 };

const all = testDatabases();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

async function start(config: Config): Promise<Service> {
  const service = await startService(config);
  closing.push(() => service.close());
  return service;
}

/** A control node that is reached over an address which outlives it. */
async function startControl(database: string, address: LastingAddress) {
  const control = toControlConfig(database, { hasRules: false });
  const rules = { inline: { version: 1, rules: [] } };
  const service = await start(toControlService(database, { control, rules }));
  address.leadTo(Number(new URL(urlOf(service, "admin")).port));
  const { plane } = service.control ?? {};
  if (plane === undefined) throw new Error("it is not a control node");
  return { service, plane };
}

function toFollower(url: string): Config {
  const snapshotFile = join(makeFolder("follower"), "edge.snapshot");
  const follow = { kind: "follow", url, token: ADMIN_TOKEN, snapshotFile } as const;
  const own = { caFile: undefined, staleMsMax: STALE_MS_MAX, node: "edge-1", hasRules: false };
  return toControlService("", {
    control: { ...follow, ...own },
    decision: {
      listen: { host: "127.0.0.1", port: 0 },
      tokens: [],
      forwardAuth: true,
      bodyBytesMax: 1_000,
    },
    identity: { trustedProxies: ["127.0.0.1"] },
    apiKeys: { unknownKeys: "refuse", lookupsPerSecond: 100 },
  });
}

function urlOf({ listeners }: Service, listener: string): string {
  return listeners.find(({ name }) => name === listener)?.url ?? "";
}

/** The status that a request with this API key gets. */
async function statusOf(service: Service, apiKey: string): Promise<number> {
  const headers = {
    "x-api-key": apiKey,
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-method": "GET",
    "x-forwarded-uri": "/",
  };
  return (await fetch(`${urlOf(service, "decision")}/check`, { headers })).status;
}

/** What load balancers and Prometheus see: the status of readiness, and whether the state counts as too old. */
async function readinessOf(service: Service): Promise<{ status: number; isStale: boolean }> {
  const { status } = await fetch(`${urlOf(service, "admin")}/readyz`);
  const metrics = await service.core.telemetry.metrics();
  const age = /rate_limiter_control_age_seconds\{region="local"\} (\S+)/.exec(metrics)?.[1];
  return { status, isStale: Number(age) * 1_000 >= STALE_MS_MAX };
}

const READY = { status: 200, isStale: false };
const STALE = { status: 503, isStale: true };

describe.each(all)("a follower of a control node with $name that is stopped", (databases) => {
  it("resolves known API keys, refuses unknown ones with 401, and is ready, stale and ready again", async () => {
    const database = await databases.create();
    const address = await openLastingAddress();
    closing.push(() => address.close());
    const { service: first, plane } = await startControl(database, address);
    await plane.tenants.put(by(), { id: "acme", input: {} });
    const known = await plane.apiKeys.create(by(), { tenant: "acme", name: "server" });
    const unknown = makeSecret("apiKey", fillFromSystem);
    const follower = await start(toFollower(address.url));
    await expect.poll(() => readinessOf(follower), WAIT).toEqual(READY);
    const statuses = async () => [
      await statusOf(follower, known.secret),
      await statusOf(follower, unknown.secret),
    ];
    expect(await statuses()).toEqual([204, 401]);

    address.leadTo(undefined);
    await first.close();
    await expect.poll(() => readinessOf(follower), WAIT).toEqual(STALE);
    expect(await statuses()).toEqual([204, 401]);

    const { plane: again } = await startControl(database, address);
    const later = await again.apiKeys.create(by(), { tenant: "acme", name: "later" });
    await again.apiKeys.revoke(by(), known.id);
    await expect.poll(() => readinessOf(follower), WAIT).toEqual(READY);
    await expect.poll(() => statusOf(follower, known.secret), WAIT).toBe(401);
    await expect.poll(() => statusOf(follower, later.secret), WAIT).toBe(204);
  });
});
