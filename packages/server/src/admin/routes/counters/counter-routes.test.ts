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
    const { body } = await admin.ask("GET /v1/audit/verify");
    expect(body).toMatchObject({ valid: true, problem: null });
    await admin.database.query("UPDATE audit SET actor = 'another' WHERE sequence = 2");
    expect((await admin.ask("GET /v1/audit/verify")).body).toMatchObject({
      valid: false,
      problem: "entry 2 was altered",
    });
    await admin.close();
  });

  it("have an entry each, whatever headers they are sent with, or are not done", async () => {
    const admin = await startControlAdmin(await databases.ready());
    const body = { rule: "login", key: "ip:203.0.113.7" };
    const again = { body, headers: { "idempotency-key": "again" } };
    for (const _ of [1, 2]) expect((await admin.ask("POST /v1/reset", again)).status).toBe(200);
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
    expect(items.map(({ action }: { action: string }) => action)).toEqual(["reset", "reset"]);
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
