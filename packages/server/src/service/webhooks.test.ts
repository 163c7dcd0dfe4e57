// A service with webhooks: a use of a durable quota arrives at a receiver, and no secret in a log.

import { verifyWebhook } from "sluice/webhooks";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { toTestConfig } from "../../test/test-config.js";
import {
  type ReceivedRequest,
  type Respond,
  startReceiver,
} from "../../test/webhooks/webhook-receiver.js";
import type { Config } from "../config/config.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import { type Service, startService } from "./service.js";

const all = testDatabases();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

const SECRET = "whsec-4f1c-of-billing";
const WAIT = { timeout: 15_000 };
const rules = {
  inline: {
    version: 1,
    rules: [
      {
        id: "exports",
        key: "tenant",
        limit: { quota: { limit: 100, period: "month" } },
        durable: { alertAt: ["80%", "100%"] },
      },
    ],
  },
};

async function receive(respond?: Respond) {
  const receiver = await startReceiver(respond);
  cleanups.push(() => receiver.close());
  return receiver;
}

/** The section of the ledger, with one webhook. */
function toLedger(database: string, url: string): Config["ledger"] {
  const webhook = { name: "billing", url, secrets: [SECRET], isEnabled: true };
  const webhooks = [{ ...webhook, timeoutMs: 1_000, caFile: undefined }];
  return { database, reservationMs: 600_000, deliveriesKeptMs: 2_592_000_000, webhooks };
}

async function start(config: Config, loadConfig?: () => Config) {
  const lines: string[] = [];
  const telemetry = createTelemetry(
    { logLevel: "trace", decisionLogShare: 1, region: "local", topKeysMax: 1 },
    { destination: { write: (line: string) => void lines.push(line) } },
  );
  const service = await startService(config, { telemetry, ...(loadConfig && { loadConfig }) });
  cleanups.push(() => service.close());
  return { service, lines };
}

/** Uses 85 of 100 units. */
async function useMost({ core }: Service): Promise<void> {
  const facts = { method: "GET", path: "/", tenant: "acme" };
  // The ledger is opened by the first request, which may take longer than a decision may.
  await expect.poll(async () => (await core.policy.peek(facts)).remaining, WAIT).toBe(100);
  expect(await core.policy.admit(facts, { cost: 85 })).toMatchObject({ allowed: true });
}

function mustBeGenuine({ body, headers }: ReceivedRequest): void {
  const data = { subject: "tenant:acme", meter: "exports", sharePercent: 80, used: 85 };
  expect(verifyWebhook({ body, headers, secret: SECRET })).toMatchObject({
    valid: true,
    event: { type: "quota.reached", data },
  });
}

describe.each(all)("a service with webhooks over $name", (databases) => {
  it("sends what a durable quota reached, tries again, and shows no secret anywhere", async () => {
    const receiver = await receive((response, _, count) => {
      response.writeHead(count === 1 ? 500 : 204).end("a-body-of-the-receiver");
    });
    const database = await databases.create();
    const ledger = toLedger(database, `${receiver.url}/path-4711?key=query-4712`);
    const { service, lines } = await start(toControlService(database, { rules, ledger }));
    await useMost(service);
    await expect.poll(() => receiver.requests.length, WAIT).toBe(1);
    const admin = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const ask = async (path: string, method = "GET") => {
      const type = { "content-type": "application/json" };
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, ...type };
      return (await fetch(admin + path, { method, headers })).text();
    };
    const list = async () => JSON.parse(await ask("/v1/webhook-deliveries")).items;
    await expect.poll(async () => (await list())[0]?.lastStatus, WAIT).toBe(500);
    const [failed] = await list();
    expect(failed).toMatchObject({ webhook: "billing", state: "pending", sharePercent: 80 });
    await ask(`/v1/webhook-deliveries/${failed.id}/retry`, "POST");
    await expect.poll(async () => (await list())[0]?.state, WAIT).toBe("delivered");
    expect(receiver.requests).toHaveLength(2);
    for (const request of receiver.requests) mustBeGenuine(request);
    // The delivery is in the database a moment before it is counted and logged.
    await expect.poll(() => lines.join(""), WAIT).toContain("webhook delivered");
    const metrics = await ask("/metrics");
    expect(metrics).toMatch(/webhook_deliveries_total\{outcome="delivered",region="local"\} 1/);
    expect(metrics).toMatch(/webhook_deliveries_total\{outcome="retried",region="local"\} 1/);
    const log = lines.join("");
    expect(log).toContain("webhook not delivered");
    const shown = log + (await ask("/v1/webhook-deliveries")) + (await ask("/v1/audit")) + metrics;
    for (const secret of [SECRET, "path-4711", "query-4712", "a-body-of", receiver.url])
      expect(shown).not.toContain(secret);
  });

  it("sends from a node without a control plane too", async () => {
    const receiver = await receive();
    const ledger = toLedger(await databases.create(), receiver.url);
    const { service, lines } = await start(toTestConfig({ rules, ledger }));
    await useMost(service);
    await expect.poll(() => lines.join(""), WAIT).toContain("webhook delivered");
    expect(receiver.requests).toHaveLength(1);
    for (const request of receiver.requests) mustBeGenuine(request);
  });

  it("follows a reload: a webhook that moves, goes and comes back gets every event once", async () => {
    const [first, second] = [await receive(), await receive()];
    const database = await databases.create();
    const withWebhooks = (url: string | undefined) => {
      const ledger = toLedger(database, url ?? "");
      return toTestConfig({
        rules,
        ledger: url === undefined ? { ...ledger, webhooks: [] } : ledger,
      } as never);
    };
    let next = withWebhooks(undefined);
    const { service, lines } = await start(next, () => next);
    const reload = async (url: string | undefined) => {
      next = withWebhooks(url);
      await service.reload();
    };
    const use = (cost: number, tenant: string) =>
      service.core.policy.admit({ method: "GET", path: "/", tenant }, { cost });
    await reload(first.url);
    await useMost(service);
    await expect.poll(() => first.requests.length, WAIT).toBe(1);
    await reload(second.url);
    expect(await use(15, "acme")).toMatchObject({ allowed: true });
    await expect.poll(() => second.requests.length, WAIT).toBe(1);
    await reload(undefined);
    expect(await use(85, "other")).toMatchObject({ allowed: true });
    await reload(first.url);
    await expect.poll(() => first.requests.length, WAIT).toBe(2);
    expect(second.requests).toHaveLength(1);
    for (const { body, headers } of [...first.requests, ...second.requests])
      expect(verifyWebhook({ body, headers, secret: SECRET })).toMatchObject({ valid: true });
    expect(lines.join("")).not.toContain("need a restart");
  });
});
