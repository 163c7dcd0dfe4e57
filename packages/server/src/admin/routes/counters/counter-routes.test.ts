import { afterAll, describe, expect, it } from "vitest";
import { startControlAdmin } from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { ServerError } from "../../../base/errors.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("acts on counters, with the control plane in $name", (databases) => {
  it("are in the audit log, which proves that it was not altered", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const target = { rule: "login", key: "ip:203.0.113.7" };
    const as = "operator" as const;
    await admin.ask("POST /v1/block", { as, body: { ...target, forMs: 60_000, reason: "abuse" } });
    await admin.ask("POST /v1/unblock", { as, body: target });
    await admin.ask("POST /v1/reset", { as, body: target });
    await admin.ask("POST /v1/refund", { as, body: { ...target, cost: 2 } });
    expect(
      (await admin.ask("POST /v1/reset", { as, body: { rule: "none", key: "ip:x" } })).status,
    ).toBe(404);
    const { items } = (await admin.ask("GET /v1/audit?kind=counter")).body;
    expect(items.map(({ action }: { action: string }) => action)).toEqual([
      "refund",
      "reset",
      "unblock",
      "block",
    ]);
    expect(items[3]).toMatchObject({
      actor: "the operator",
      reason: "abuse",
      after: { ...target, forMs: 60_000 },
    });
    const blocks = "GET /v1/audit?kind=counter&action=block";
    expect((await admin.ask(`${blocks}&from=2023-11-14`)).body.items).toEqual([items[3]]);
    expect((await admin.ask(`${blocks}&to=2023-11-14`)).body.items).toEqual([]);
    const { body } = await admin.ask("GET /v1/audit/verify");
    expect(body).toMatchObject({ valid: true, problem: null });
    await admin.database.query("UPDATE audit SET actor = 'another' WHERE sequence = 2");
    expect((await admin.ask("GET /v1/audit/verify")).body).toMatchObject({
      valid: false,
      problem: "entry 2 was altered",
    });
    await admin.close();
  });

  it("with the same Idempotency-Key are done and recorded once, and get the same answer", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const facts = { method: "GET", path: "/", ip: "203.0.113.7" };
    for (const _ of [1, 2, 3]) await admin.ask("POST /v1/check", { body: { facts } });
    const body = { rule: "login", key: "ip:203.0.113.7", cost: 1 };
    const refund = (cost: number, key: string, as: "admin" | "operator" = "operator") =>
      admin.ask("POST /v1/refund", {
        as,
        body: { ...body, cost },
        headers: { "idempotency-key": key },
      });
    const answers = await Promise.all([refund(1, "a"), refund(1, "a"), refund(1, "a")]);
    for (const { status, body } of [...answers, await refund(1, "a")])
      expect([status, body.refunded]).toEqual([200, 1]);
    expect((await admin.core.policy.peek(facts)).remaining).toBe(1);
    expect(await refund(2, "a")).toMatchObject({
      status: 422,
      body: { code: "SLUICE_KEY_REUSED" },
    });
    const block = { body: { rule: "login", key: body.key, forMs: null }, as: "operator" } as const;
    const otherVerb = { ...block, headers: { "idempotency-key": "a" } };
    expect((await admin.ask("POST /v1/block", otherVerb)).status).toBe(422);
    expect((await admin.core.policy.peek(facts)).remaining).toBe(1);
    await refund(1, "a", "admin");
    await refund(1, "b");
    expect((await admin.core.policy.peek(facts)).remaining).toBe(3);
    const { items } = (await admin.ask("GET /v1/audit?kind=counter")).body;
    expect(items).toHaveLength(3);
    await admin.close();
  });

  it("with an unusable key or reason are not done", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const body = { rule: "login", key: "ip:203.0.113.7" };
    const unusable: Record<string, string>[] = [
      { "idempotency-key": "x".repeat(256) },
      { "sluice-reason": "x".repeat(1_001) },
    ];
    for (const headers of unusable) {
      const refused = await admin.ask("POST /v1/block", {
        body: { ...body, forMs: null },
        headers,
      });
      expect(refused.status).toBe(400);
    }
    const facts = { method: "GET", path: "/", ip: "203.0.113.7" };
    expect((await admin.core.policy.peek(facts)).allowed).toBe(true);
    const { items } = (await admin.ask("GET /v1/audit?kind=counter")).body;
    expect(items).toEqual([]);
    await admin.close();
  });
});

it("an act on a counter that can't be recorded is done, and the answer says so", async () => {
  const admin = await startControlAdmin(await all[0].ready());
  admin.plane.record = () =>
    Promise.reject(new ServerError("SLUICE_DATABASE_UNAVAILABLE", "connection refused"));
  const target = { rule: "login", key: "ip:203.0.113.7" };
  const { status, body } = await admin.ask("POST /v1/block", { body: { ...target, forMs: null } });
  expect([status, body.detail]).toEqual([503, expect.stringContaining("the block was done, but")]);
  const facts = { method: "GET", path: "/", ip: "203.0.113.7" };
  expect((await admin.core.policy.peek(facts)).allowed).toBe(false);
  await admin.close();
});

it("an act that could not be recorded is not done again, and recorded when it is sent again", async () => {
  const admin = await startControlAdmin(await all[0].ready());
  const { record } = admin.plane;
  const facts = { method: "GET", path: "/", ip: "203.0.113.7" };
  for (const _ of [1, 2, 3]) await admin.ask("POST /v1/check", { body: { facts } });
  const body = { rule: "login", key: "ip:203.0.113.7", cost: 1 };
  const refund = { body, headers: { "idempotency-key": "a" } };
  admin.plane.record = () =>
    Promise.reject(new ServerError("SLUICE_DATABASE_UNAVAILABLE", "connection refused"));
  expect((await admin.ask("POST /v1/refund", refund)).status).toBe(503);
  admin.plane.record = record;
  expect(await admin.ask("POST /v1/refund", refund)).toMatchObject({
    status: 200,
    body: { refunded: 1 },
  });
  expect((await admin.core.policy.peek(facts)).remaining).toBe(1);
  expect((await admin.ask("GET /v1/audit?kind=counter")).body.items).toHaveLength(1);
  await admin.close();
});
