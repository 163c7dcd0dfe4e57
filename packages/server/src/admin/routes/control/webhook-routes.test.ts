import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { sluice } from "../../../../test/cli/fake-terminal.js";
import {
  type ControlAdmin,
  startControlAdmin,
  type TestCaller,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { addQuotaEvent } from "../../../../test/webhooks/quota-events.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("webhook deliveries at the admin port, in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    for (let n = 0; n < 5; n++) {
      await addQuotaEvent(admin.database, { subject: `tenant:${n}`, atMs: admin.clock.now() });
      await admin.plane.deliveries.dispatch(["billing"], admin.clock.now());
      admin.clock.advance(1);
    }
  });
  afterEach(() => admin.close());

  const command = (line: string, as: TestCaller = "operator") => {
    const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens[as] };
    return sluice(line.split(" "), { env });
  };

  async function failOne(): Promise<string> {
    const nowMs = admin.clock.now();
    const claim = { nowMs, endsAtMs: nowMs + 1_000, max: 1 };
    const [claimed] = await admin.plane.deliveries.claim("billing", claim);
    if (claimed === undefined) throw new Error("nothing to claim");
    const attempt = { attempt: 1, atMs: nowMs, status: 500, error: "the receiver answered 500" };
    const outcome = { nextAttemptAtMs: undefined, nowMs };
    await admin.plane.deliveries.recordFailed(claimed, attempt, outcome);
    return claimed.id;
  }

  it("are listed page by page, the latest first, without the subject of the quota", async () => {
    const path = "GET /v1/webhook-deliveries?limit=2";
    const first = (await admin.ask(path, { as: "viewer" })).body;
    const second = (await admin.ask(`${path}&after=${first.next}`)).body;
    const third = (await admin.ask(`${path}&after=${second.next}`)).body;
    expect(third.next).toBeNull();
    const items = [first, second, third].flatMap((page) => page.items);
    expect(items).toHaveLength(5);
    const times = items.map(({ createdAtMs }) => createdAtMs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(items[0]).toMatchObject({
      webhook: "billing",
      state: "pending",
      meter: "exports",
      sharePercent: 80,
      attempts: 0,
      endedAtMs: null,
      lastError: null,
      history: [],
    });
    expect(JSON.stringify(items[0].data ?? "")).not.toContain("tenant");
  });

  it("are filtered by state, webhook and event", async () => {
    const id = await failOne();
    const count = async (query: string) =>
      (await admin.ask(`GET /v1/webhook-deliveries?${query}`)).body.items.length;
    expect(await count("state=failed")).toBe(1);
    expect(await count("state=pending&webhook=billing")).toBe(4);
    expect(await count("webhook=other")).toBe(0);
    const { eventId } = (await admin.plane.deliveries.get(id)) ?? {};
    expect(await count(`event=${eventId}`)).toBe(1);
  });

  it.each(["after=nonsense", "state=lost", "limit=0"])("refuse the query %s", async (query) => {
    expect(await admin.ask(`GET /v1/webhook-deliveries?${query}`)).toMatchObject({
      status: 400,
      body: { code: "SLUICE_REQUEST_INVALID" },
    });
  });

  it("are sent again by an operator, which the audit log has", async () => {
    const id = await failOne();
    const path = `POST /v1/webhook-deliveries/${id}/retry`;
    const body = { reason: "the receiver is back" };
    expect(await admin.ask(path, { as: "viewer", body })).toMatchObject({ status: 403 });
    expect((await admin.ask(path, { as: "operator", body })).body).toMatchObject({
      id,
      state: "pending",
      nextAttemptAtMs: admin.clock.now(),
      endedAtMs: null,
      lastStatus: 500,
      history: [{ attempt: 1, status: 500 }],
    });
    const { items } = (await admin.ask("GET /v1/audit?kind=webhook-delivery")).body;
    expect(items).toMatchObject([
      {
        action: "retry",
        entityId: id,
        actor: "the operator",
        reason: "the receiver is back",
        after: { webhook: "billing", state: "failed" },
      },
    ]);
    const unknown = await admin.ask("POST /v1/webhook-deliveries/nothing/retry", { body });
    expect(unknown).toMatchObject({ status: 404, body: { code: "SLUICE_NOT_FOUND" } });
  });

  it("are due immediately after the wall clock has been set back, which that of decisions does not follow", async () => {
    const id = await failOne();
    const nowMs = admin.clock.now();
    Object.assign(admin.clock, { wall: () => nowMs + 600_000 });
    const retried = await admin.ask(`POST /v1/webhook-deliveries/${id}/retry`, { body: {} });
    expect(retried.body).toMatchObject({ state: "pending", nextAttemptAtMs: nowMs });
  });

  it("are sent again once for an Idempotency-Key", async () => {
    const id = await failOne();
    const path = `POST /v1/webhook-deliveries/${id}/retry`;
    const ask = () => admin.ask(path, { body: {}, headers: { "idempotency-key": "k-1" } });
    const first = await ask();
    const nowMs = admin.clock.now();
    const claim = { nowMs, endsAtMs: nowMs + 1_000, max: 10 };
    const claimed = await admin.plane.deliveries.claim("billing", claim);
    const again = claimed.find((each) => each.id === id);
    if (again === undefined) throw new Error("it is not sent again");
    await admin.plane.deliveries.recordDelivered(again, { attempt: 2, status: 200 }, nowMs);
    expect(await ask()).toMatchObject({ status: 200, body: first.body });
    expect(await admin.plane.deliveries.get(id)).toMatchObject({ state: "delivered" });
    const { items } = (await admin.ask("GET /v1/audit?kind=webhook-delivery")).body;
    expect(items).toHaveLength(1);
  });

  it("are listed and retried by the command", async () => {
    const id = await failOne();
    const listed = await command("webhooks list --state failed", "viewer");
    expect(listed.code).toBe(0);
    expect(listed.out).toContain("delivery ");
    expect(listed.out).toMatch(
      new RegExp(`${id} +billing +80% of exports .*failed +1 .*answered 500`),
    );
    expect((await command("webhooks list --webhook other")).out).toBe("no deliveries\n");
    const page = await command("webhooks list --limit 2 --json");
    expect(JSON.parse(page.out)).toMatchObject({ items: [{}, {}], next: expect.any(String) });
    expect(await command(`webhooks retry ${id}`, "viewer")).toMatchObject({ code: 3 });
    const retried = await command(`webhooks retry ${id}`);
    expect([retried.code, retried.out]).toEqual([0, `${id}: is sent to billing again\n`]);
    const missing = await command("webhooks retry nothing");
    expect(missing.code).not.toBe(0);
    expect(missing.err).toContain("no webhook delivery");
  });
});
