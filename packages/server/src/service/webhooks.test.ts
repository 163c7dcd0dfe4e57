// A service with webhooks: a use of a durable quota arrives at a receiver, and no secret in a log.

import { quota } from "sluice";
import { ManualClock } from "sluice/testing";
import { verifyWebhook } from "sluice/webhooks";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ADMIN_TOKEN, toControlService } from "../../test/control/control-config.js";
import { testDatabases } from "../../test/control/databases.js";
import { startReceiver } from "../../test/webhooks/webhook-receiver.js";
import { Ledger } from "../ledger/ledger.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import { startService } from "./service.js";

const all = testDatabases();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

const SECRET = "whsec-4f1c-of-billing";
const counter = {
  scope: "exports",
  part: 0,
  limit: quota({ limit: 100, period: "month" }),
  durable: { carryOverMax: 0, alertShares: [0.8, 1] },
};

describe.each(all)("a service with webhooks over $name", (databases) => {
  it("sends what a durable quota reached, tries again, and shows no secret anywhere", async () => {
    const receiver = await startReceiver((response, _, count) => {
      response.writeHead(count === 1 ? 500 : 204).end("a-body-of-the-receiver");
    });
    cleanups.push(() => receiver.close());
    const lines: string[] = [];
    const telemetry = createTelemetry(
      { logLevel: "trace", decisionLogShare: 1, region: "local", topKeysMax: 1 },
      { destination: { write: (line: string) => void lines.push(line) } },
    );
    const url = `${receiver.url}/path-4711?key=query-4712`;
    const webhook = { name: "billing", url, secrets: [SECRET], isEnabled: true };
    const ledgerConfig = { webhooks: [{ ...webhook, timeoutMs: 1_000, caFile: undefined }] };
    const config = toControlService(await databases.create(), { ledger: ledgerConfig });
    const service = await startService(config, { telemetry });
    cleanups.push(() => service.close());
    const { database, plane } = service.control ?? {};
    if (database === undefined || plane === undefined) throw new Error("no control node");
    const clock = new ManualClock(Date.now());
    const ledger = new Ledger(database, { actor: "node-1", clock, sweepMs: 0 });
    const charge = { counter, key: "tenant:acme", cost: 85, nowMs: clock.now() };
    expect(await ledger.store.decide([charge])).toMatchObject({ allowed: true });
    await expect.poll(() => receiver.requests.length, { timeout: 10_000 }).toBe(1);
    await expect
      .poll(async () => (await plane.deliveries.list({ limit: 1 }))[0]?.lastStatus, {
        timeout: 5_000,
      })
      .toBe(500);
    const admin = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const ask = async (path: string, method = "GET") =>
      (
        await fetch(admin + path, {
          method,
          headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        })
      ).text();
    const { items } = JSON.parse(await ask("/v1/webhook-deliveries"));
    expect(items).toMatchObject([{ webhook: "billing", state: "pending", sharePercent: 80 }]);
    await ask(`/v1/webhook-deliveries/${items[0].id}/retry`, "POST");
    await expect.poll(() => receiver.requests.length, { timeout: 10_000 }).toBe(2);
    for (const { body, headers } of receiver.requests) {
      expect(verifyWebhook({ body, headers, secret: SECRET })).toMatchObject({
        valid: true,
        event: {
          type: "quota.reached",
          data: { subject: "tenant:acme", meter: "exports", sharePercent: 80, used: 85 },
        },
      });
    }
    await expect
      .poll(() => ask("/metrics"), { timeout: 5_000 })
      .toMatch(/rate_limiter_webhook_deliveries_total\{outcome="delivered",region="local"\} 1/);
    await ledger.close();
    const log = lines.join("");
    expect(log).toContain("webhook not delivered");
    expect(log).toContain("webhook delivered");
    const shown = log + (await ask("/v1/webhook-deliveries")) + (await ask("/v1/audit"));
    for (const secret of [SECRET, "path-4711", "query-4712", "a-body-of", receiver.url])
      expect(shown).not.toContain(secret);
  });
});
