import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ManualClock } from "sluice/testing";
import { verifyWebhook } from "sluice/webhooks";
import { makeCertificate, makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { addQuotaEvent } from "../../../test/webhooks/quota-events.js";
import {
  type Respond,
  startReceiver,
  type WebhookReceiver,
} from "../../../test/webhooks/webhook-receiver.js";
import type { WebhookConfig } from "../../config/config.js";
import { parseConfig } from "../../config/load.js";
import type { Database, SqlValue } from "../../database/database.js";
import { migrate } from "../../database/migrate.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import { statements } from "../sql/statements.js";
import { TRIES_MAX } from "./backoff.js";
import { IN_FLIGHT_MAX, toWebhookBody } from "./deliverer.js";
import { Deliveries } from "./deliveries.js";
import { postWebhook } from "./post-webhook.js";
import { Webhooks } from "./webhooks.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const SECRET = "a-secret-of-the-billing-webhook";
const START_MS = Date.UTC(2026, 4, 20);
const DAY_MS = 86_400_000;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function receive(respond?: Respond): Promise<WebhookReceiver> {
  const receiver = await startReceiver(respond);
  cleanups.push(() => receiver.close());
  return receiver;
}

function webhook(url: string, change: Partial<WebhookConfig> = {}): WebhookConfig {
  const usual = { name: "billing", url, secrets: [SECRET], isEnabled: true, timeoutMs: 5_000 };
  return { ...usual, caFile: undefined, ...change };
}

describe.each(all)("webhooks over $name", (databases) => {
  const clock = new ManualClock(START_MS);
  const nowMs = () => clock.now();
  const half = () => 0.5;

  function open(database: Database, webhooks: readonly WebhookConfig[]): Webhooks {
    const telemetry = silentTelemetry();
    const opened = new Webhooks({ database, webhooks, telemetry, nowMs, chance: half });
    cleanups.push(() => opened.close());
    return opened;
  }

  async function run(webhooks: Webhooks): Promise<void> {
    await webhooks.round();
    await webhooks.idle();
  }

  async function ready() {
    const database = await databases.ready();
    const id = await addQuotaEvent(database, { atMs: clock.now() });
    return { database, id };
  }

  const only = async (webhooks: Webhooks) => {
    const found = await webhooks.deliveries.list({ limit: 10 });
    expect(found).toHaveLength(1);
    return found[0];
  };

  it("delivers an event once, signed, with a stable id", async () => {
    const { database, id } = await ready();
    const receiver = await receive();
    const webhooks = open(database, [webhook(receiver.url)]);
    await run(webhooks);
    await run(webhooks);
    expect(receiver.requests).toHaveLength(1);
    const [request] = receiver.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hooks" });
    expect(request?.headers).toMatchObject({
      "content-type": "application/json",
      "sluice-event-id": id,
      "user-agent": expect.stringMatching(/^Sluice\//),
    });
    const { body = "", headers = {} } = request ?? {};
    expect(verifyWebhook({ body, headers, secret: SECRET, nowMs: clock.now() })).toMatchObject({
      valid: true,
      event: {
        id,
        type: "quota.reached",
        data: { subject: "tenant:acme", meter: "exports", sharePercent: 80 },
      },
    });
    expect(await only(webhooks)).toMatchObject({
      eventId: id,
      webhook: "billing",
      state: "delivered",
      attempts: 1,
      lastStatus: 204,
      endedAtMs: clock.now(),
      history: [{ attempt: 1, atMs: clock.now(), status: 204 }],
    });
  });

  it("signs with the newest and the previous secret while they are rotated", async () => {
    const { database } = await ready();
    const receiver = await receive();
    await run(open(database, [webhook(receiver.url, { secrets: ["the-new-secret-1", SECRET] })]));
    const { body = "", headers = {} } = receiver.requests[0] ?? {};
    for (const secret of [SECRET, "the-new-secret-1"])
      expect(verifyWebhook({ body, headers, secret, nowMs: clock.now() })).toMatchObject({
        valid: true,
      });
  });

  it("tries again after a 500, not before the wait is over, with the same body", async () => {
    const { database } = await ready();
    const receiver = await receive((response, _, count) => {
      response.writeHead(count < 3 ? 500 : 200).end("whatever");
    });
    const webhooks = open(database, [webhook(receiver.url)]);
    await run(webhooks);
    const failed = await only(webhooks);
    expect(failed).toMatchObject({ state: "pending", attempts: 1, lastStatus: 500 });
    expect(failed?.nextAttemptAtMs).toBe(clock.now() + 5_000);
    clock.advance(4_999);
    await run(webhooks);
    expect(receiver.requests).toHaveLength(1);
    clock.advance(1);
    await run(webhooks);
    expect(receiver.requests).toHaveLength(2);
    clock.advance(10_000);
    await run(webhooks);
    expect(await only(webhooks)).toMatchObject({
      state: "delivered",
      attempts: 3,
      lastError: undefined,
      history: [{ status: 500 }, { status: 500 }, { status: 200 }],
    });
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.requests.map(({ headers }) => headers["sluice-signature"])).size).toBe(
      3,
    );
  });

  it("waits as long as Retry-After asks", async () => {
    const { database } = await ready();
    const receiver = await receive((response) => {
      response.writeHead(503, { "retry-after": "3600" }).end();
    });
    const webhooks = open(database, [webhook(receiver.url)]);
    await run(webhooks);
    expect((await only(webhooks))?.nextAttemptAtMs).toBe(clock.now() + 3_600_000);
  });

  it("says of a connection that is refused only its code", async () => {
    const { database } = await ready();
    const receiver = await receive();
    await receiver.close();
    const url = `${receiver.url}?token=hidden`;
    const webhooks = open(database, [webhook(url)]);
    await run(webhooks);
    const { lastError } = (await only(webhooks)) ?? {};
    expect(lastError).toBe("the request failed (ECONNREFUSED)");
  });

  it("gives up after its tries, keeps every attempt, and starts again when an operator retries", async () => {
    const { database } = await ready();
    const receiver = await receive((response) => void response.writeHead(500).end());
    const webhooks = open(database, [webhook(receiver.url)]);
    const startMs = clock.now();
    for (let n = 0; n < TRIES_MAX + 3; n++) {
      await run(webhooks);
      clock.set((await only(webhooks))?.nextAttemptAtMs ?? clock.now());
    }
    expect(receiver.requests).toHaveLength(TRIES_MAX);
    const failed = await only(webhooks);
    expect(failed).toMatchObject({
      state: "failed",
      attempts: TRIES_MAX,
      nextAttemptAtMs: undefined,
    });
    expect(failed?.history.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: TRIES_MAX }, (_, index) => index + 1),
    );
    expect((clock.now() - startMs) / DAY_MS).toBeCloseTo(3, 0);
    expect(await webhooks.deliveries.retry(failed?.id ?? "", clock.now())).toMatchObject({
      state: "pending",
      nextAttemptAtMs: clock.now(),
    });
    await run(webhooks);
    expect(await only(webhooks)).toMatchObject({ state: "pending", attempts: TRIES_MAX + 1 });
    expect((await only(webhooks))?.nextAttemptAtMs).toBe(clock.now() + 5_000);
    receiver.respond = (response) => void response.writeHead(200).end();
    clock.advance(5_000);
    await run(webhooks);
    expect(await only(webhooks)).toMatchObject({ state: "delivered" });
    expect(await webhooks.deliveries.retry("no-such-delivery", clock.now())).toBeUndefined();
  });

  it("sends again what a node sent and did not live to record, and says so", async () => {
    const { database, id } = await ready();
    const receiver = await receive();
    await run(open(withoutRecords(database), [webhook(receiver.url)]));
    expect(receiver.requests).toHaveLength(1);
    const other = open(database, [webhook(receiver.url)]);
    await run(other);
    clock.advance(34_999);
    await run(other);
    expect(receiver.requests).toHaveLength(1);
    clock.advance(1);
    await run(other);
    const sent = receiver.requests.map(({ headers }) => headers["sluice-event-id"]);
    expect(sent).toEqual([id, id]);
    expect(await only(other)).toMatchObject({
      state: "delivered",
      attempts: 2,
      history: [
        { attempt: 1, error: expect.stringContaining("not known") },
        { attempt: 2, status: 204 },
      ],
    });
  });

  it("drops the late record of a failed attempt, and keeps that of a delivery", async () => {
    const { database } = await ready();
    const receiver = await receive();
    const { deliveries } = open(database, [webhook(receiver.url)]);
    const now = clock.now();
    await deliveries.dispatch(["billing"], now);
    const [first] = await deliveries.claim("billing", { nowMs: now, endsAtMs: now + 1, max: 1 });
    const [second] = await deliveries.claim("billing", {
      nowMs: now + 1,
      endsAtMs: now + 9,
      max: 1,
    });
    if (first === undefined || second === undefined) throw new Error("not claimed");
    const late = { nextAttemptAtMs: undefined, nowMs: now + 2 };
    await deliveries.recordFailed(first, { attempt: 1, error: "late" }, late);
    expect(await deliveries.get(first.id)).toMatchObject({ state: "pending", history: [] });
    await deliveries.recordDelivered(first, { attempt: 1, status: 200 }, now + 3);
    await deliveries.recordFailed(second, { attempt: 2, error: "later" }, late);
    expect(await deliveries.get(first.id)).toMatchObject({ state: "delivered", attempts: 2 });
  });

  it("sends each delivery once while several nodes race for them", async () => {
    const url = await databases.create();
    const first = databases.open(url);
    await migrate(first);
    const ids: string[] = [];
    for (let n = 0; n < 60; n++)
      ids.push(await addQuotaEvent(first, { subject: `tenant:${n}`, atMs: clock.now() }));
    const receiver = await receive();
    const nodes = [first, databases.open(url), databases.open(url), databases.open(url)].map(
      (database) => open(database, [webhook(receiver.url)]),
    );
    while (
      (await first.query("SELECT id FROM webhook_deliveries WHERE state = 'delivered'")).length < 60
    )
      await Promise.all(nodes.map(run));
    const sent = receiver.requests.map(({ headers }) => headers["sluice-event-id"]);
    expect(sent.toSorted()).toEqual(ids.toSorted());
  });

  it("lets only one of many nodes claim a delivery, or dispatch an event", async () => {
    const url = await databases.create();
    const nodes = Array.from({ length: 6 }, () => new Deliveries(databases.open(url)));
    const database = databases.open(url);
    await migrate(database);
    for (let n = 0; n < 120; n++)
      await addQuotaEvent(database, { subject: `tenant:${n}`, atMs: clock.now() });
    const now = clock.now();
    await Promise.all(nodes.map((node) => node.dispatch(["billing"], now)));
    const claim = { nowMs: now, endsAtMs: now + 60_000, max: 3 };
    const claimed: string[] = [];
    for (let isDone = false; !isDone; ) {
      const found = await Promise.all(nodes.map((node) => node.claim("billing", claim)));
      claimed.push(...found.flat().map(({ id }) => id));
      isDone = found.flat().length === 0;
    }
    expect(new Set(claimed).size).toBe(120);
    expect(claimed).toHaveLength(120);
  });

  it("has at most a few in flight to one receiver, and lets a slow one hold up no other", async () => {
    const database = await databases.ready();
    for (let n = 0; n < 20; n++)
      await addQuotaEvent(database, { subject: `tenant:${n}`, atMs: clock.now() });
    let inFlight = 0;
    let most = 0;
    const held: (() => void)[] = [];
    const slow = await receive(async (response) => {
      most = Math.max(most, ++inFlight);
      await new Promise<void>((resolve) => held.push(resolve));
      inFlight--;
      response.writeHead(200).end();
    });
    const fast = await receive();
    const webhooks = open(database, [
      webhook(slow.url, { name: "slow" }),
      webhook(fast.url, { name: "fast" }),
    ]);
    await webhooks.round();
    await expect.poll(() => fast.requests.length, { timeout: 10_000 }).toBe(20);
    expect(slow.requests).toHaveLength(IN_FLIGHT_MAX);
    const releasing = setInterval(() => {
      for (const release of held.splice(0)) release();
    }, 5);
    await webhooks.idle();
    clearInterval(releasing);
    expect(slow.requests).toHaveLength(20);
    expect(most).toBe(IN_FLIGHT_MAX);
  });

  it("keeps the deliveries of a webhook that is disabled until it is enabled", async () => {
    const { database } = await ready();
    const receiver = await receive();
    await run(open(database, [webhook(receiver.url, { isEnabled: false })]));
    expect(receiver.requests).toHaveLength(0);
    clock.advance(30 * DAY_MS);
    const webhooks = open(database, [webhook(receiver.url)]);
    await run(webhooks);
    expect(await only(webhooks)).toMatchObject({ state: "delivered", attempts: 1 });
  });

  it("gives up the deliveries of a webhook that was removed after three days", async () => {
    const { database } = await ready();
    const receiver = await receive((response) => void response.writeHead(500).end());
    await run(open(database, [webhook(receiver.url, { name: "removed" })]));
    const others = () => open(database, [webhook(receiver.url, { name: "other" })]);
    clock.advance(2 * DAY_MS);
    await run(others());
    const filter = { webhook: "removed", limit: 10 };
    expect(await others().deliveries.list(filter)).toMatchObject([{ state: "pending" }]);
    clock.advance(2 * DAY_MS);
    const last = others();
    await run(last);
    expect(await last.deliveries.list(filter)).toMatchObject([
      { state: "failed", lastError: expect.stringContaining("removed") },
    ]);
  });

  it("sends events that waited for a webhook, up to seven days", async () => {
    const database = await databases.ready();
    await addQuotaEvent(database, { subject: "old", atMs: clock.now() - 7 * DAY_MS - 1 });
    const id = await addQuotaEvent(database, { subject: "new", atMs: clock.now() - 7 * DAY_MS });
    const receiver = await receive();
    const webhooks = open(database, [webhook(receiver.url)]);
    await run(webhooks);
    clock.advance(10_000);
    await run(webhooks);
    expect(receiver.requests.map(({ headers }) => headers["sluice-event-id"])).toEqual([id]);
  });

  it("removes deliveries that ended 30 days ago, and sends none of them again", async () => {
    const { database } = await ready();
    const receiver = await receive();
    await run(open(database, [webhook(receiver.url)]));
    await addQuotaEvent(database, { atMs: clock.now(), sharePercent: 100 });
    const waiting = [webhook(receiver.url, { isEnabled: false })];
    clock.advance(30 * DAY_MS);
    const states = async () => {
      const webhooks = open(database, waiting);
      await run(webhooks);
      return (await webhooks.deliveries.list({ limit: 10 })).map(({ state }) => state);
    };
    expect(await states()).toContain("delivered");
    clock.advance(1);
    expect(await states()).not.toContain("delivered");
    await run(open(database, [webhook(receiver.url)]));
    expect(receiver.requests).toHaveLength(1);
  });

  it("lists deliveries page by page, the latest first, by state and webhook", async () => {
    const database = await databases.ready();
    const good = await receive();
    const bad = await receive((response) => void response.writeHead(400).end());
    const webhooks = open(database, [
      webhook(good.url, { name: "good" }),
      webhook(bad.url, { name: "bad" }),
    ]);
    for (let n = 0; n < 5; n++) {
      await addQuotaEvent(database, { subject: `tenant:${n}`, atMs: clock.now() });
      await run(webhooks);
      clock.advance(1);
    }
    const { deliveries } = webhooks;
    const everything = await deliveries.list({ limit: 100 });
    expect(everything).toHaveLength(10);
    const pages = [];
    for (let after: (typeof everything)[number] | undefined; ; after = pages.at(-1)) {
      const page = await deliveries.list({ limit: 3, after });
      if (page.length === 0) break;
      pages.push(...page);
    }
    expect(pages).toEqual(everything);
    const times = everything.map(({ createdAtMs }) => createdAtMs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(await deliveries.list({ state: "delivered", limit: 100 })).toHaveLength(5);
    expect(await deliveries.list({ webhook: "bad", state: "pending", limit: 100 })).toHaveLength(5);
    const eventId = everything[0]?.eventId;
    expect(await deliveries.list({ eventId, limit: 100 })).toHaveLength(2);
  });
});

describe("a webhook over TLS", () => {
  const message = { headers: {}, body: "{}", signal: new AbortController().signal };

  it("is sent only to a receiver whose certificate is trusted", async () => {
    const { certFile, keyFile } = makeCertificate(makeFolder("webhook-tls"), "receiver");
    const ca = readFileSync(certFile, "utf8");
    const server = createServer({ cert: ca, key: readFileSync(keyFile) }, (_, response) => {
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const trusted = await postWebhook({ url, timeoutMs: 5_000, ca }, message);
    expect(trusted).toMatchObject({ isDelivered: true, status: 204 });
    const unknown = await postWebhook({ url, timeoutMs: 5_000, ca: undefined }, message);
    expect(unknown).toMatchObject({
      isDelivered: false,
      error: expect.stringContaining("SELF_SIGNED"),
    });
  });
});

describe("the guide of webhooks", () => {
  const guide = readFileSync(
    new URL("../../../../../docs/guides/webhooks.md", import.meta.url),
    "utf8",
  );

  it("shows a configuration that loads, and an event as the ledger writes it", () => {
    const [, yaml = ""] = /^```yaml\n([\s\S]*?)^```/m.exec(guide) ?? [];
    const env = { DATABASE_URL: "file:sluice.db", WEBHOOK_SECRET: SECRET };
    const { ledger } = parseConfig(yaml, { file: "/sluice.yaml", env });
    expect(ledger?.webhooks).toMatchObject([{ name: "billing", secrets: [SECRET] }]);
    const [, shown = ""] = /^```json\n([\s\S]*?)^```/m.exec(guide) ?? [];
    const { id, type, atMs, data } = JSON.parse(shown);
    expect(JSON.parse(toWebhookBody(id, JSON.stringify({ type, atMs, ...data })))).toEqual(
      JSON.parse(shown),
    );
  });

  it("says how often and how long deliveries are tried", () => {
    expect(guide).toContain(`tried up to ${TRIES_MAX} times`);
    expect(IN_FLIGHT_MAX).toBe(5);
    expect(guide).toContain("At most five requests are in flight");
  });
});

/** A database to which the connection is lost after each send, before it is recorded. */
function withoutRecords(database: Database): Database {
  const lost: string[] = [statements.endDelivery, statements.failAttempt];
  return Object.assign(Object.create(database) as Database, {
    query: (sql: string, values?: readonly SqlValue[]) =>
      lost.includes(sql) ? Promise.reject(new Error("lost")) : database.query(sql, values),
    transaction: database.transaction.bind(database),
  });
}
