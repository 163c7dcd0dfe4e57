import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { sluice } from "../../../../test/cli/fake-terminal.js";
import { type ControlAdmin, startControlAdmin } from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const KEY = "ip:203.0.113.7";
const HASHED = expect.stringMatching(/^hmac:[0-9a-f]{16}$/);
const rules = (limit: number) => `version: 1
rules:
  - { id: login, key: ip, limit: ${limit}/minute }
`;

describe.each(all)("a preview of rules, with the control plane in $name", (databases) => {
  let admin: ControlAdmin;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    const facts = { method: "POST", path: "/login", ip: "203.0.113.7" };
    // Three a minute are allowed.
    for (let i = 0; i < 4; i++) await admin.ask("POST /v1/check", { body: { facts } });
  });
  afterEach(() => admin.close());

  const ask = (body: object, as: "viewer" | "operator" = "viewer", headers = {}) =>
    admin.ask("POST /v1/rule-sets/preview", { as, body, headers });

  it("says who would be refused, with keys in clear to operators only", async () => {
    const { status, body } = await ask({ text: rules(1) });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      keysShare: 1,
      samplesLeftOut: 0,
      requests: { total: 4, refusedBefore: 1, refusedAfter: 3, newlyRefused: 2, asDecided: 4 },
      callers: { total: 1, newlyRefused: 1, newlyAllowed: 0 },
      byRule: [{ rule: "login", newlyRefused: 2, newlyAllowed: 0, keys: 1 }],
      byKey: [{ rule: "login", key: HASHED, newlyRefused: 2 }],
    });
    expect(JSON.stringify(body)).not.toContain("203.0.113.7");
    const clear = await ask({ text: rules(9), keys: "clear" }, "operator");
    expect(clear.body).toMatchObject({
      byKey: [{ rule: "login", key: KEY, newlyRefused: 0, newlyAllowed: 1 }],
    });
    expect(await ask({ text: rules(1), keys: "clear" })).toMatchObject({
      status: 403,
      body: { code: "SLUICE_ROLE_INSUFFICIENT" },
    });
  });

  it("gives the draft the overrides of the control plane", async () => {
    const subject = "user:ann";
    const override = { subject, rule: "login", limit: "unlimited", reason: "a test" };
    await admin.ask("POST /v1/overrides", { body: override });
    const facts = { method: "POST", path: "/login", ip: "203.0.113.9", user: "ann" };
    for (let i = 0; i < 2; i++) await admin.ask("POST /v1/check", { body: { facts } });
    const { body } = await ask({ text: rules(1), keys: "clear" }, "operator");
    expect(body.byKey.map(({ key }: { key: string }) => key)).toEqual([KEY]);
  });

  it("refuses what can't be used, and keeps nothing", async () => {
    const invalid = await ask({ text: "version: 1\nrules:\n  - { id: a, key: ip, limt: 5 }\n" });
    expect(invalid).toMatchObject({ status: 422, body: { problems: [{ line: 3 }, { line: 3 }] } });
    expect(await ask({ text: "x".repeat(2_100_000) })).toMatchObject({ status: 413 });
    for (const body of [
      {},
      { text: 7 },
      { text: rules(1), minutes: 9 },
      { text: rules(1), keys: "all" },
    ])
      expect(await ask(body)).toMatchObject({ status: 400 });
    expect((await admin.ask("GET /v1/rule-sets")).body.items).toHaveLength(1);
  });

  it("is a command, with a table and as JSON", async () => {
    const file = join(makeFolder("rules"), "rules.yaml");
    writeFileSync(file, rules(1));
    const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens.operator };
    const run = (...flags: string[]) => sluice(["rules", "preview", file, ...flags], { env });
    const { code, out } = await run("--clear-keys", "--yes");
    expect([code, out.split("\n")]).toEqual([
      0,
      [
        "1 of 1 caller would be refused more often, 0 less often",
        expect.stringMatching(
          /^4 requests in \d+ seconds?: 1 refused by the rules in force, 3 by the file$/,
        ),
        "rule   key             newly refused  newly allowed",
        "login  ip:203.0.113.7              2              0",
        expect.stringContaining("login: it counts over a longer time than the samples cover"),
        "",
      ],
    ]);
    expect(JSON.parse((await run("--json")).out)).toMatchObject({ byKey: [{ key: HASHED }] });
    expect((await run("--minutes", "7")).code).toBe(2);
    writeFileSync(file, "version: 1\nrules:\n  - { id: a, key: ip, limt: 5 }\n");
    expect(await run()).toMatchObject({ code: 1, err: expect.stringContaining(`${file}:3`) });
  });
});
