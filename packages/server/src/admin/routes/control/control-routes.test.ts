import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ControlAdmin,
  START_MS,
  startControlAdmin,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

describe.each(all)("the API of the control plane in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
  });
  afterEach(() => admin.close());

  describe("an edit", () => {
    it("says which revision it was made to, and gets 409 with both versions if that is gone", async () => {
      const first = await admin.ask("PUT /v1/plans/pro", { body: { tier: "gold" } });
      const etag = `"${first.body.revision}"`;
      expect([first.status, first.headers.get("etag")]).toEqual([200, etag]);
      const headers = { "if-match": etag };
      const edited = await admin.ask("PUT /v1/plans/pro", { body: { tier: "silver" }, headers });
      const { revision } = edited.body;
      expect(revision).toBeGreaterThan(first.body.revision);
      const stale = { body: { tier: "bronze" }, headers };
      const refused = await admin.ask("PUT /v1/plans/pro", stale);
      expect(refused).toMatchObject({
        status: 409,
        body: {
          code: "SLUICE_CONFLICT",
          current: { id: "pro", revision, tier: "silver" },
          yours: { tier: "bronze" },
        },
      });
      expect(refused.headers.get("etag")).toBe(`"${revision}"`);
      expect(refused.headers.get("content-type")).toBe("application/problem+json");
    });

    it("of something that is there needs If-Match, and replaces anything by *", async () => {
      const put = (tier: string, headers = {}) =>
        admin.ask("PUT /v1/plans/pro", { body: { tier }, headers });
      expect(await put("a", { "if-match": "*" })).toMatchObject({ status: 404 });
      const etag = (await put("a", { "if-none-match": "*" })).headers.get("etag");
      const unsaid = await put("b");
      expect([unsaid.status, unsaid.headers.get("etag")]).toEqual([428, etag]);
      expect(unsaid.body.detail).toContain(`If-Match: ${etag}`);
      expect(await put("b", { "if-none-match": "*" })).toMatchObject({ status: 409 });
      expect(await put("b", { "if-match": "*" })).toMatchObject({ status: 200 });
      expect(await put("c", { "if-match": 'W/"2"' })).toMatchObject({ status: 400 });
      expect((await admin.ask("GET /v1/plans/pro")).body).toMatchObject({ tier: "b" });
    });

    it("of something that was removed and made again under its id is refused", async () => {
      const put = (tier: string, headers = {}) =>
        admin.ask("PUT /v1/plans/pro", { body: { tier }, headers });
      const headers = { "if-match": String((await put("a")).headers.get("etag")) };
      await admin.ask("DELETE /v1/plans/pro", { headers });
      await put("b");
      expect(await put("c", headers)).toMatchObject({
        status: 409,
        body: { current: { tier: "b" } },
      });
      const removed = await admin.ask("DELETE /v1/plans/pro", { headers });
      expect(removed.status).toBe(409);
    });

    it.each([
      ["POST /v1/api-keys", { tenant: "acme", name: "x", expiresAtMs: START_MS }, "expiresAtMs"],
      ["POST /v1/access-tokens", { name: "x", role: "viewer", expiresAtMs: 1 }, "expiresAtMs"],
      ["POST /v1/blocks", { subjects: ["user:42"], reason: "x", endsAtMs: START_MS }, "endsAtMs"],
      [
        "POST /v1/overrides",
        { subject: "tenant:acme", rule: "login", limit: "5/minute", reason: "x", endsAtMs: 5 },
        "endsAtMs",
      ],
    ])("that would have ended is refused: %s %j", async (route, body, field) => {
      await admin.ask("PUT /v1/tenants/acme", { body: {} });
      const answer = await admin.ask(route, { body });
      expect(answer).toMatchObject({ status: 400, body: { code: "SLUICE_REQUEST_INVALID" } });
      expect(answer.body.detail).toContain(`${field} must be in the future, got `);
    });

    it("of something that has ended by now keeps its end", async () => {
      const body = { subjects: ["user:42"], reason: "x", endsAtMs: START_MS + 1_000 };
      const { body: block } = await admin.ask("POST /v1/blocks", { body });
      admin.clock.advance(1_000);
      const headers = { "if-match": "*" };
      const edit = { body: { ...body, reason: "y" }, headers };
      expect((await admin.ask(`PUT /v1/blocks/${block.id}`, edit)).status).toBe(200);
    });

    it("that failed leaves its Idempotency-Key to another one", async () => {
      const headers = { "idempotency-key": "retry-4" };
      const wrong = { body: { plan: "none" }, headers };
      expect((await admin.ask("PUT /v1/tenants/t", wrong)).status).toBe(400);
      expect((await admin.ask("PUT /v1/tenants/t", { body: {}, headers })).status).toBe(200);
    });

    it("that is sent again with its Idempotency-Key is made once", async () => {
      const headers = { "idempotency-key": "retry-1" };
      const block = { body: { subjects: ["ip:203.0.113.0/24"], reason: "abuse" }, headers };
      const [first, second] = [
        await admin.ask("POST /v1/blocks", block),
        await admin.ask("POST /v1/blocks", block),
      ];
      expect(first).toMatchObject({ status: 201 });
      expect(second.body).toEqual(first.body);
      expect((await admin.ask("GET /v1/blocks")).body.items).toHaveLength(1);
      // With another body or path it is not the same request.
      const other = await admin.ask("POST /v1/blocks", {
        body: { subjects: ["user:42"], reason: "abuse" },
        headers,
      });
      expect(other).toMatchObject({ status: 422, body: { code: "SLUICE_KEY_REUSED" } });
      expect(await admin.ask("PUT /v1/plans/p", { body: {}, headers })).toMatchObject({
        status: 422,
      });
      expect((await admin.ask("GET /v1/blocks")).body.items).toHaveLength(1);
      const plan = { body: { tier: "gold" }, headers: { "idempotency-key": "retry-2" } };
      const puts = [
        await admin.ask("PUT /v1/plans/p", plan),
        await admin.ask("PUT /v1/plans/p", plan),
      ];
      expect(puts.map(({ status }) => status)).toEqual([200, 200]);
      expect(puts[1].body).toEqual(puts[0].body);
      const tokenHeaders = { "idempotency-key": "retry-3" };
      const token = { body: { name: "ci", role: "viewer" }, headers: tokenHeaders };
      expect((await admin.ask("POST /v1/access-tokens", token)).status).toBe(201);
      const again = await admin.ask("POST /v1/access-tokens", token);
      expect([again.status, again.body.detail]).toEqual([
        409,
        expect.stringContaining("not shown again"),
      ]);
    });

    it("is in the audit log with who, from where and why", async () => {
      const headers = { "sluice-reason": "ticket 7" };
      await admin.ask("PUT /v1/plans/pro", { body: { tier: "gold" }, headers });
      await admin.ask("PUT /v1/tenants/acme", { body: { plan: "pro", reason: "a new customer" } });
      await admin.ask("DELETE /v1/tenants/acme", { body: { reason: "gone" } });
      const { items } = (await admin.ask("GET /v1/audit?actor=the%20admin")).body;
      expect(items).toMatchObject([
        { action: "remove", kind: "tenant", reason: "gone", before: { plan: "pro" } },
        { action: "create", kind: "tenant", reason: "a new customer" },
        { actor: "the admin", origin: "127.0.0.1", reason: "ticket 7", after: { tier: "gold" } },
      ]);
    });

    it.each([
      ["PUT /v1/plans/pro", { teir: "gold" }, 400, "teir is unknown, did you mean tier?"],
      ["PUT /v1/plans/a%2Fb", {}, 400, "the id of a plan must be a name"],
      ["PUT /v1/tenants/acme", { plan: "none" }, 400, "plan must be the name of a plan"],
      ["POST /v1/overrides", { subject: "acme" }, 400, "subject must be a caller"],
      [
        "POST /v1/api-keys",
        { tenant: "none", name: "x" },
        404,
        'not found: there is no tenant "none"',
      ],
      ["DELETE /v1/access-tokens/alice", {}, 404, 'there is no access token of the id "alice"'],
      ["POST /v1/rule-sets/99/rollback", {}, 404, "not found: there is no rule set 99"],
      ["GET /v1/audit?kind=rule-sets", undefined, 400, "did you mean rule-set?"],
      ["POST /v1/access-tokens", { name: "x", role: "root" }, 400, "role must be one of viewer"],
      ["DELETE /v1/plans/none", {}, 404, 'there is no plan "none"'],
      ["GET /v1/plans?limit=0", undefined, 400, "limit must be a whole number from 1 to 1000"],
      ["GET /v1/plans?limt=5", undefined, 400, "limt is unknown, did you mean limit?"],
      ["GET /v1/plans?limit=5&limit=6", undefined, 400, "twice"],
      ["GET /v1/rule-sets/seven", undefined, 400, 'a rule set has a number, got "seven"'],
      ["PUT /v1/switches/lgin", { state: "off", reason: "x" }, 400, "did you mean login?"],
    ])("says what is wrong: %s %j → %i", async (request, body, status, detail) => {
      const answer = await admin.ask(request, body === undefined ? {} : { body });
      expect([answer.status, answer.body.detail]).toEqual([
        status,
        expect.stringContaining(detail),
      ]);
    });
  });

  it.each([
    "GET /v1/plans/a%00",
    "DELETE /v1/plans/a%00",
    "GET /v1/api-keys/a%00",
    "GET /v1/plans?after=%00",
    "GET /v1/tenants?plan=%00",
    "GET /v1/audit?kind=%00",
  ])("refuses a NUL character, which PostgreSQL does not take: %s", async (request) => {
    const { status, body } = await admin.ask(request);
    expect([status, body.detail]).toEqual([400, expect.stringContaining("a NUL character")]);
  });

  it("lists page by page, narrowed by filters", async () => {
    await admin.ask("PUT /v1/plans/pro", { body: {} });
    for (const id of ["a", "b", "c"])
      await admin.ask(`PUT /v1/tenants/${id}`, { body: id === "b" ? {} : { plan: "pro" } });
    const first = (await admin.ask("GET /v1/tenants?limit=2")).body;
    expect([first.items.map(({ id }: { id: string }) => id), first.next]).toEqual([
      ["a", "b"],
      "b",
    ]);
    const second = (await admin.ask(`GET /v1/tenants?limit=2&after=${first.next}`)).body;
    expect([second.items.map(({ id }: { id: string }) => id), second.next]).toEqual([["c"], null]);
    const ofPlan = (await admin.ask("GET /v1/tenants?plan=pro")).body;
    expect(ofPlan.items.map(({ id }: { id: string }) => id)).toEqual(["a", "c"]);
    for (const [query, ids] of [
      ["prefix=b", ["b"]],
      ["prefix=a&plan=pro", ["a"]],
      ["prefix=b&plan=pro", []],
      ["prefix=%25", []],
    ] as const) {
      const found = (await admin.ask(`GET /v1/tenants?${query}`)).body;
      expect(found.items.map(({ id }: { id: string }) => id)).toEqual(ids);
    }
    const audit = (await admin.ask("GET /v1/audit?kind=tenant&limit=2")).body;
    expect(audit.items.map(({ entityId }: { entityId: string }) => entityId)).toEqual(["c", "b"]);
    const older = (await admin.ask(`GET /v1/audit?kind=tenant&after=${audit.next}`)).body;
    expect(older.items.map(({ entityId }: { entityId: string }) => entityId)).toEqual(["a"]);
  });

  it("finds and shows rule sets in the audit log by their number, with the note as reason", async () => {
    const text = "version: 1\nrules: []\n";
    const { number } = (await admin.ask("POST /v1/rule-sets", { body: { text } })).body;
    const note = "no rules";
    await admin.ask(`POST /v1/rule-sets/${number}/publish`, { body: { note } });
    const back = { note: "back", reason: "ticket 8" };
    await admin.ask(`POST /v1/rule-sets/${number - 1}/rollback`, { body: back });
    const find = async (id: string) =>
      (await admin.ask(`GET /v1/audit?kind=rule-set&id=${id}`)).body.items;
    const entry = { kind: "rule-set", entityId: String(number) };
    expect(await find(String(number))).toMatchObject([
      { ...entry, action: "supersede", reason: "ticket 8" },
      { ...entry, action: "publish", reason: note },
      { ...entry, action: "draft" },
    ]);
    expect(await find(String(number).padStart(10, "0"))).toHaveLength(3);
  });

  it("lists the audit log without what was said, and shows an entry whole", async () => {
    await admin.ask("PUT /v1/tenants/acme", { body: { timeZone: "Europe/Paris" } });
    const { items } = (await admin.ask("GET /v1/audit?bodies=none")).body;
    for (const item of items) expect(item).not.toHaveProperty("after");
    const shown = await admin.ask(`GET /v1/audit/${items[0].sequence}`);
    expect(shown.body).toMatchObject({ ...items[0], after: { timeZone: "Europe/Paris" } });
    expect((await admin.ask("GET /v1/audit?limit=1")).body.items).toEqual([shown.body]);
    for (const none of ["0", "999999", "x", "1.5"])
      expect((await admin.ask(`GET /v1/audit/${none}`)).status).toBe(404);
  });

  it("ends a page of the audit log early where what was said is long, and says that there is more", async () => {
    const text = `# ${"x".repeat(2_000_000)}\nversion: 1\nrules: []\n`;
    for (let n = 0; n < 3; n++) await admin.ask("POST /v1/rule-sets", { body: { text } });
    const seen: unknown[] = [];
    for (let after: string | null = "99"; after !== null; ) {
      const page: Awaited<ReturnType<typeof admin.ask>> = await admin.ask(
        `GET /v1/audit?action=draft&after=${after}`,
      );
      seen.push(page.body.items.length);
      after = page.body.next as string | null;
    }
    // The last one has the short draft of the fixture beside it.
    expect(seen).toEqual([1, 1, 2]);
  });

  describe("rule sets", () => {
    const rules = (limit: number) =>
      `version: 1\nrules:\n  - { id: login, key: ip, limit: ${limit}/minute }\n`;

    it("go from draft to published, and back by a new version", async () => {
      const draft = await admin.ask("POST /v1/rule-sets", {
        as: "operator",
        body: { text: rules(7) },
      });
      expect(draft).toMatchObject({
        status: 201,
        body: { number: 2, status: "draft", basedOn: 1 },
      });
      expect(draft.headers.get("location")).toBe("/v1/rule-sets/2");
      const diff = (await admin.ask("GET /v1/rule-sets/2/diff")).body;
      expect(diff).toMatchObject({ changed: [{ id: "login" }], added: [], removed: [] });
      const edit = { as: "operator", body: { text: rules(8) } } as const;
      expect((await admin.ask("PUT /v1/rule-sets/2", edit)).status).toBe(428);
      const headers = { "if-match": String(draft.headers.get("etag")) };
      const { revision } = (await admin.ask("PUT /v1/rule-sets/2", { ...edit, headers })).body;
      const stale = await admin.ask("PUT /v1/rule-sets/2", { ...edit, headers });
      expect(stale).toMatchObject({
        status: 409,
        body: { current: { revision, text: rules(8) }, yours: { text: rules(8) } },
      });
      await admin.ask("POST /v1/rule-sets/2/publish", { body: { note: "eight" } });
      expect((await admin.ask("GET /v1/rule-sets/published")).body).toMatchObject({
        number: 2,
        note: "eight",
        text: rules(8),
      });
      const back = await admin.ask("POST /v1/rule-sets/1/rollback", {
        body: { note: "too many", expected: 2 },
      });
      expect(back.body).toMatchObject({ number: 3, status: "published" });
      const { items } = (await admin.ask("GET /v1/rule-sets?status=superseded")).body;
      expect(items).toEqual([
        expect.objectContaining({ number: 1 }),
        expect.not.objectContaining({ text: rules(8) }),
      ]);
    });

    it("of two publishers one wins, and the other gets 409 with what is published", async () => {
      for (const limit of [7, 8])
        await admin.ask("POST /v1/rule-sets", { body: { text: rules(limit) } });
      const outcomes = await Promise.all(
        [2, 3].map((number) => admin.ask(`POST /v1/rule-sets/${number}/publish`, { body: {} })),
      );
      const [won, lost] = outcomes.sort((a, b) => a.status - b.status);
      expect([won.status, lost.status]).toEqual([200, 409]);
      expect(lost.body.current).toMatchObject({ text: won.body.text, status: "published" });
    });

    it("that can't be used are reported with every problem and its line, and can't be published", async () => {
      const text =
        "version: 1\nrules:\n  - { id: a, key: ip, limt: 5 }\n  - { id: b, key: nothing, limit: 5/minute }\n";
      const { body } = await admin.ask("POST /v1/rule-sets/validate", {
        as: "viewer",
        body: { text },
      });
      expect(body).toMatchObject({ valid: false, version: null });
      const lines = body.problems.map(({ line }: { line: number }) => line);
      expect(lines).toContain(3);
      expect(lines).toContain(4);
      expect(
        (await admin.ask("POST /v1/rule-sets/validate", { body: { text: rules(1) } })).body,
      ).toMatchObject({ valid: true, problems: [] });
      await admin.ask("POST /v1/rule-sets", { body: { text } });
      const refused = await admin.ask("POST /v1/rule-sets/2/publish", { body: {} });
      expect(refused.body.code).toBe("SLUICE_RULES_INVALID");
      expect(refused.status).toBe(422);
    });

    it("larger than allowed, or not JSON, are refused", async () => {
      const text = "#".repeat((2 << 20) + 1);
      for (const path of ["/v1/rule-sets", "/v1/rule-sets/validate"]) {
        const tooLong = await admin.ask(`POST ${path}`, { body: { text } });
        expect(tooLong).toMatchObject({ status: 413, body: { code: "SLUICE_BODY_TOO_LARGE" } });
        expect(tooLong.body.detail).toContain("2097153 characters; the bound is 2097152");
      }
      const huge = await admin.ask("POST /v1/plans", { body: {} });
      expect(huge.status).toBe(405);
      const large = { body: { subjects: ["ip:203.0.113.7"], reason: "x".repeat(5 << 20) } };
      expect((await admin.ask("POST /v1/blocks", large)).status).toBe(413);
      const yaml = { body: { text: "x" }, headers: { "content-type": "application/yaml" } };
      expect((await admin.ask("POST /v1/rule-sets", yaml)).status).toBe(415);
    });
  });

  describe("secrets", () => {
    it("are in the answer that makes them, which is not cached, and nowhere else", async () => {
      await admin.ask("PUT /v1/tenants/acme", { body: {} });
      const key = await admin.ask("POST /v1/api-keys", {
        body: { tenant: "acme", name: "web", scopes: ["read"] },
      });
      expect(key.body).toMatchObject({ tenant: "acme", secret: expect.stringMatching(/^slk_/) });
      expect(key.headers.get("cache-control")).toBe("no-store");
      const rotated = await admin.ask(`POST /v1/api-keys/${key.body.id}/rotate`, {
        body: { overlapMs: 1_000 },
      });
      const token = await admin.ask("POST /v1/access-tokens", {
        body: { name: "ci", role: "viewer" },
      });
      const shown = await Promise.all(
        [
          "GET /v1/api-keys?tenant=acme",
          `GET /v1/api-keys/${key.body.id}`,
          "GET /v1/access-tokens",
          "GET /v1/audit",
        ].map(async (request) => JSON.stringify((await admin.ask(request)).body)),
      );
      for (const { secret } of [key.body, rotated.body, token.body]) {
        for (const text of shown) expect(text).not.toContain(secret.split("_")[2]);
      }
      const hashes = await admin.database.query<{ body: string }>(
        "SELECT body FROM entities WHERE kind = 'api-key'",
      );
      for (const { body } of hashes) expect(shown.join()).not.toContain(JSON.parse(body).hash);
      expect((await admin.ask(`GET /v1/api-keys/${key.body.id}`)).body).toMatchObject({
        expiresAtMs: START_MS + 1_000,
        replacedBy: rotated.body.id,
      });
      await admin.ask(`DELETE /v1/api-keys/${rotated.body.id}`);
      expect((await admin.ask(`GET /v1/api-keys/${rotated.body.id}`)).status).toBe(404);
    });

    it("that are revoked are refused from the next request on", async () => {
      const made = await admin.ask("POST /v1/access-tokens", {
        body: { name: "ci", role: "admin" },
      });
      const headers = { authorization: `Bearer ${made.body.secret}` };
      const ask = () => admin.ask("GET /v1/plans", { as: "none", headers });
      expect((await ask()).status).toBe(200);
      await admin.ask(`DELETE /v1/access-tokens/${made.body.id}`);
      expect((await ask()).status).toBe(401);
    });
  });

  it("switches rules for every node, by either route", async () => {
    await admin.ask("POST /v1/rules/login/disable", {
      as: "operator",
      body: { reason: "an incident" },
    });
    expect((await admin.ask("GET /v1/switches/login")).body).toMatchObject({
      state: "off",
      reason: "an incident",
    });
    await admin.ask("POST /v1/rules/login/enable", { as: "operator", body: {} });
    expect((await admin.ask("GET /v1/switches")).body.items).toEqual([]);
    await admin.ask("PUT /v1/switches/*", { as: "operator", body: { state: "deny", reason: "x" } });
    expect((await admin.ask("GET /v1/switches/*")).body).toMatchObject({ id: "*", state: "deny" });
    await admin.ask("DELETE /v1/switches/*", { as: "operator" });
  });

  it("shows keys in clear to operators, and not to viewers", async () => {
    expect((await admin.ask("GET /v1/top?keys=clear", { as: "viewer" })).status).toBe(403);
    expect((await admin.ask("GET /v1/top?keys=clear", { as: "operator" })).status).toBe(200);
  });
});

describe("a node without the control plane", () => {
  it("that follows another says where to send the request", async () => {
    const control = { controlPlane: { follow: "https://control.example.com:9090" } };
    const admin = await startControlAdmin(await all[0].ready(), { control });
    const refused = await admin.ask("PUT /v1/plans/pro", { body: {} });
    expect([refused.status, refused.body.code]).toEqual([409, "SLUICE_NOT_CONTROL_NODE"]);
    expect(refused.body.detail).toContain("https://control.example.com:9090");
    const switched = await admin.ask("POST /v1/rules/login/disable", { body: {} });
    expect([switched.status, switched.body.code]).toEqual([409, "SLUICE_NOT_CONTROL_NODE"]);
    expect((await admin.ask("GET /v1/rules", { as: "viewer" })).status).toBe(200);
    await admin.close();
  });

  it("says what to configure", async () => {
    const control = { controlPlane: undefined, controlState: undefined };
    const admin = await startControlAdmin(await all[0].ready(), { control });
    const missing = await admin.ask("GET /v1/plans", { as: "none" });
    expect([missing.status, missing.body.detail]).toEqual([
      404,
      expect.stringContaining("control: { database:"),
    ]);
    const valid = { as: "none", body: { text: "version: 1\nrules: []" } } as const;
    expect((await admin.ask("POST /v1/rule-sets/validate", valid)).body).toMatchObject({
      valid: true,
    });
    await admin.close();
  });
});
