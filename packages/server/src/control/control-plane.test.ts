import { callerBlocks } from "sluice/rules";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import { ConflictError } from "./changes/changes.js";
import { ControlPlane } from "./control-plane.js";
import { statements } from "./sql/statements.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const RULES = "version: 1\nrules:\n  - { id: search, key: tenant, limit: 10/minute }\n";
const REASON = { reason: "a test" };

describe.each(all)("the control plane in $name", (databases) => {
  async function start() {
    const enforced: number[] = [];
    const database = await databases.ready();
    const plane = new ControlPlane({
      database,
      enforce: async (sequence) => void enforced.push(sequence),
    });
    const { number } = await plane.ruleSets.createDraft(by(), RULES);
    await plane.ruleSets.publish(by(), { number, note: "first", expected: 0 });
    return { plane, database, enforced };
  }

  let shared: ReturnType<typeof start> | undefined;

  it("resolves a change after this node enforces it", async () => {
    const { plane, enforced } = await start();
    await plane.plans.put(by(), { id: "pro", input: { tier: "pro" } });
    const [latest] = await plane.searchAudit({ limit: 1 });
    expect(enforced.at(-1)).toBe(latest?.sequence);
  });

  it("refuses limits that regions can't share, which would keep every later change out of force", async () => {
    const stores = Object.fromEntries(
      ["ap", "eu", "us"].map((name) => [name, { url: `redis://${name}`, weight: 1 }]),
    );
    const rulesUse = {
      seesResponses: true,
      hasLedger: false,
      regions: {
        self: "eu",
        home: "eu",
        stores,
        shares: "weights" as const,
        leaseMs: 5_000,
        reserve: 0,
        takeover: "manual" as const,
        permissionMs: 15_000,
        promotionWaitMs: 60_000,
      },
    };
    const plane = new ControlPlane({ database: await databases.ready(), rulesUse });
    const text = RULES.replace("10/minute", "10/minute, across: split");
    const { number } = await plane.ruleSets.createDraft(by(), text);
    await plane.ruleSets.publish(by(), { number, note: "first", expected: 0 });
    const toOverride = (limit: string) => ({
      id: "one",
      input: { subject: "tenant:acme", rule: "search", limit, ...REASON },
    });
    const why = "across: split leaves the region us 0 of the 2 units";
    await expect(plane.overrides.put(by(), toOverride("2/hour"))).rejects.toThrow(why);
    const limits = { search: "2/hour" };
    const plan = { id: "pro", input: { tier: "gold", limits } };
    await expect(plane.plans.put(by(), plan)).rejects.toThrow(why);
    await plane.overrides.put(by(), toOverride("3/hour"));
  });

  it("keeps what was written, with its defaults", async () => {
    const { plane } = await start();
    await plane.plans.put(by(), {
      id: "pro",
      input: { tier: "gold", limits: { search: "50/minute" } },
    });
    expect(await plane.plans.get("pro")).toEqual({
      id: "pro",
      revision: 3,
      body: { tier: "gold", limits: { search: "50/minute" } },
    });
    const tenant = await plane.tenants.put(by(), {
      id: "acme",
      input: { plan: "pro", attributes: { region: "eu", seats: 5 }, billingAnchor: "2024-01-31" },
    });
    expect(tenant.body).toEqual({
      plan: "pro",
      timeZone: "UTC",
      billingAnchor: "2024-01-31",
      attributes: { region: "eu", seats: 5 },
      status: "active",
    });
    expect(await plane.tenants.list({ parent: "pro" })).toEqual([tenant]);
  });

  it("refuses an edit of a revision that is gone, with what is there now", async () => {
    const { plane } = await start();
    const put = (tier: string, revision: number) =>
      plane.plans.put(by(), { id: "pro", input: { tier }, revision });
    const { revision } = await put("gold", 0);
    const later = await put("silver", revision);
    const stale = put("bronze", revision);
    await expect(stale).rejects.toThrow(ConflictError);
    await expect(stale).rejects.toMatchObject({
      message: expect.stringContaining(
        `is at revision ${later.revision}, and the edit was made to revision ${revision}`,
      ),
      current: { body: { tier: "silver" } },
    });
    await expect(plane.plans.remove(by(), "pro", revision)).rejects.toThrow(ConflictError);
    expect((await plane.plans.get("pro")).body).toMatchObject({ tier: "silver" });
  });

  it.each([
    [
      "plans",
      { limits: { serch: "5/minute" } },
      'no published rule has the id "serch"; did you mean search?',
    ],
    [
      "plans",
      { limits: { search: "5/min" } },
      'limits.search must be a rate such as 100/minute or 100/5m, got "5/min"; did you mean 5/minute?',
    ],
    [
      "plans",
      { limits: { search: ["5/minute", { tokenBucket: { capacity: 0, refillPerSecond: 1 } }] } },
      "limits.search[1].tokenBucket.capacity must be a whole number from 1",
    ],
    ["plans", { limits: { search: null } }, "limits.search must be a limit such as 100/minute"],
    [
      "overrides",
      { subject: 'user:"]', rule: "search", limit: "1/secnd", ...REASON },
      'invalid: limit must be a rate such as 100/minute or 100/5m, got "1/secnd"',
    ],
    ["plans", { teir: "gold" }, "teir is unknown, did you mean tier?"],
    ["tenants", { plan: "pro" }, 'plan must be the name of a plan, got "pro"'],
    [
      "tenants",
      { timeZone: "Mars/Olympus" },
      'timeZone must be an IANA time zone such as Europe/Paris, got "Mars/Olympus"',
    ],
    [
      "tenants",
      { billingAnchor: "2024-04-31" },
      "billingAnchor must be a day of the month from 1 to 31, or a local date",
    ],
    ["tenants", { billingAnchor: 32 }, "billingAnchor must be a whole number from 1 to 31, got 32"],
    [
      "tenants",
      { status: "suspnded" },
      'status must be one of active, suspended, got "suspnded"; did you mean suspended?',
    ],
    [
      "overrides",
      { subject: "ip:10.0.0.1", rule: "search", limit: "1/second", ...REASON },
      "subject must be a caller such as tenant:acme",
    ],
    [
      "overrides",
      { subject: "tenant:acme", rule: "search", limit: "1/second" },
      "reason is missing",
    ],
    [
      "overrides",
      { subject: "tenant:acme", rule: "x", limit: "1/second", ...REASON },
      'no published rule has the id "x"',
    ],
    [
      "blocks",
      { subjects: ["ip:10.0.0.1/8"], ...REASON },
      "subjects.0 must be an address, a range or a caller",
    ],
    [
      "blocks",
      { subjects: ["user:"], ...REASON },
      "subjects.0 must be an address, a range or a caller",
    ],
    ["blocks", { subjects: [], ...REASON }, "subjects must"],
    ["blocks", [], "the body must be an object"],
  ] as const)("says what is wrong with an entry of %s: %o", async (name, input, message) => {
    // Nothing of it is written, so all cases share one database.
    shared ??= start();
    const { plane } = await shared;
    const written = plane[name].put(by(), { id: "x", input });
    await expect(written).rejects.toMatchObject({
      code: "SLUICE_REQUEST_INVALID",
      message: expect.stringContaining(message),
    });
    expect(await plane[name].list()).toEqual([]);
  });

  it("takes ids that are names, and none that could be mistaken for something else", async () => {
    const { plane } = await start();
    for (const id of ["", "a/b", "a b", "ü", "x".repeat(101)]) {
      await expect(plane.plans.put(by(), { id, input: {} })).rejects.toThrow(
        "the id of a plan must be a name",
      );
    }
    await plane.tenants.put(by(), { id: "__proto__", input: {} });
    expect(await plane.tenants.get("__proto__")).toMatchObject({ id: "__proto__" });
  });

  it("switches only rules that are published, and all of them by *", async () => {
    const { plane } = await start();
    const input = { state: "deny", ...REASON };
    await plane.switches.put(by(), { id: "search", input });
    await plane.switches.put(by(), { id: "*", input });
    expect((await plane.switches.list()).map(({ id }) => id).sort()).toEqual(["*", "search"]);
    await expect(plane.switches.put(by(), { id: "serch", input })).rejects.toThrow(
      "did you mean search?",
    );
  });

  it("makes ids for overrides and blocks, and removes them", async () => {
    const { plane } = await start();
    const input = { subject: "tenant:acme", rule: "search", limit: "unlimited", ...REASON };
    const { id } = await plane.overrides.create(by(), input);
    expect(await plane.overrides.list({ parent: "tenant:acme" })).toMatchObject([
      { id, body: input },
    ]);
    await plane.overrides.remove(by(), id);
    expect(await plane.overrides.find(id)).toBeUndefined();
    await expect(plane.overrides.remove(by(), id)).rejects.toThrow(`there is no override "${id}"`);
  });

  it("takes only ends of blocks that policies take, so that no block keeps the others out of force", async () => {
    const { plane } = await start();
    const block = (endsAtMs: number) =>
      plane.blocks.create(by(), { subjects: ["user:42"], endsAtMs, ...REASON });
    const end = Date.UTC(2101, 0, 1);
    for (const late of [end, end * 1_000])
      await expect(block(late)).rejects.toThrow("endsAtMs must be");
    const { body } = await block(end - 1);
    const [subject] = body.subjects;
    const blocks = callerBlocks([{ subject, endsAtMs: body.endsAtMs, ...REASON }]);
    expect(blocks.find({ method: "GET", path: "/", user: "42" }, 0)).toMatchObject({
      untilMs: end - 1,
    });
  });

  it("takes no more subjects of blocks than policies take together", async () => {
    const { plane, database } = await start();
    const subjects = Array<string>(10_000).fill("user:42");
    const body = JSON.stringify({ subjects, ...REASON });
    for (let n = 0; n < 100; n++)
      await database.query(statements.writeEntity, ["block", `b${n}`, null, 1, 1, body]);
    const one = { subjects: ["user:7"], ...REASON };
    await expect(plane.blocks.create(by(), one)).rejects.toThrow("1000001 subjects would be");
    await plane.blocks.put(by(), { id: "b0", input: one });
    await plane.blocks.create(by(), one);
  });

  it("takes no more overrides and limits of plans than policies take together", async () => {
    const { plane, database } = await start();
    const limits = { search: "5/minute" };
    await plane.plans.put(by(), { id: "pro", input: { limits } });
    await database.query(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 99999)
      INSERT INTO entities SELECT 'override', 'o' || n, NULL, 1, 1, '{}' FROM numbers`,
    );
    const one = { subject: "user:7", rule: "search", limit: "5/minute", ...REASON };
    await expect(plane.overrides.create(by(), one)).rejects.toThrow("100001 limits");
    const more = plane.plans.put(by(), { id: "max", input: { limits } });
    await expect(more).rejects.toThrow("remove overrides that have ended");
    await plane.overrides.put(by(), { id: "o1", input: one });
    await plane.plans.put(by(), { id: "pro", input: { limits } });
    await plane.overrides.remove(by(), "o1");
    await plane.overrides.create(by(), one);
  });

  it("keeps a plan that has tenants, and a tenant that has API keys", async () => {
    const { plane } = await start();
    await plane.plans.put(by(), { id: "pro", input: {} });
    await plane.tenants.put(by(), { id: "acme", input: { plan: "pro" } });
    await expect(plane.plans.remove(by(), "pro")).rejects.toThrow('tenant "acme" is on the plan');
    await plane.tenants.put(by(), { id: "acme", input: {} });
    await plane.plans.remove(by(), "pro");
    const { id } = await plane.apiKeys.create(by(), { tenant: "acme", name: "ci" });
    await expect(plane.tenants.remove(by(), "acme")).rejects.toThrow("the tenant has API keys");
    await plane.apiKeys.revoke(by(), id);
    await plane.tenants.remove(by(), "acme");
    expect(await plane.verifyAudit()).not.toHaveProperty("problem");
  });

  it("finds audit entries by kind, entity and actor, the latest first", async () => {
    const { plane } = await start();
    await plane.plans.put(by(), { id: "a", input: {} });
    await plane.plans.put({ ...by(), actor: "ben" }, { id: "b", input: {} });
    await plane.plans.put(by(), { id: "a", input: { tier: "x" } });
    const plans = await plane.searchAudit({ kind: "plan" });
    expect(plans.map(({ entityId, action }) => [entityId, action])).toEqual([
      ["a", "edit"],
      ["b", "create"],
      ["a", "create"],
    ]);
    expect(await plane.searchAudit({ kind: "plan", entityId: "a", limit: 1 })).toEqual([plans[0]]);
    expect(await plane.searchAudit({ actor: "ben" })).toEqual([plans[1]]);
    expect(await plane.searchAudit({ kind: "plan", before: plans[0]?.sequence ?? 0 })).toEqual(
      plans.slice(1),
    );
  });
});
