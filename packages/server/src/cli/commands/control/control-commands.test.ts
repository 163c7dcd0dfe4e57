import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { sluice } from "../../../../test/cli/fake-terminal.js";
import {
  type ControlAdmin,
  START_MS,
  startControlAdmin,
  type TestCaller,
} from "../../../../test/control/admin-fixture.js";
import { testDatabases } from "../../../../test/control/databases.js";
import { hourOf } from "../../../control/keys/key-uses.js";
import { writeLastUses } from "../../../control/keys/stored-uses.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const OVERRIDE = ["--rule", "login", "--limit", "500/minute"];
const rules = (limit: number) => `version: 1
rules:
  - { id: login, key: ip, limit: ${limit}/minute }
`;

describe.each(all)("the command with a control plane in $name", (databases) => {
  let admin: ControlAdmin;
  let file: string;
  beforeEach(async () => {
    admin = await startControlAdmin(await databases.ready());
    file = join(makeFolder("rules"), "rules.yaml");
  });
  afterEach(() => admin.close());

  const run = (line: string | readonly string[], as: TestCaller = "admin") => {
    const args = typeof line === "string" ? line.split(" ") : line;
    const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens[as] };
    return sluice(args, { env });
  };
  const write = (limit: number) => writeFileSync(file, rules(limit));

  describe("rules push", () => {
    it("publishes a file once, however often it is pushed", async () => {
      write(7);
      const first = await run(["rules", "push", file, "--publish", "--force", "--note", "seven"]);
      expect([first.code, first.out]).toEqual([0, `${file}: published as version 2\n`]);
      const second = await run(["rules", "push", file, "--publish"]);
      expect([second.code, second.out]).toEqual([0, `${file}: published already, as version 2\n`]);
      expect((await run("rules history")).out).toContain("2        published   1         seven");
      write(8);
      expect((await run(["rules", "push", file, "--publish"])).out).toContain("version 3");
    });

    it("makes one draft of one file", async () => {
      write(7);
      const outs = [
        await run(["rules", "push", file, "--force"]),
        await run(["rules", "push", file, "--force"]),
      ];
      expect(outs.map(({ out }) => out)).toEqual(
        Array(2).fill(`${file}: draft 2; sluice rules publish 2\n`),
      );
      expect((await run("rules publish 2 --note x")).out).toBe("published version 2\n");
    });

    it("does not replace what another operator published, unless it is forced or expected", async () => {
      write(7);
      const refused = await run(["rules", "push", file, "--publish"]);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain("set-up published version 1");
      expect(refused.err).toContain("--force");
      const stale = await run(["rules", "push", file, "--publish", "--expected", "9"]);
      expect([stale.code, stale.err]).toEqual([
        1,
        expect.stringContaining("version 1 is published"),
      ]);
      expect((await run(["rules", "push", file, "--publish", "--expected", "1"])).code).toBe(0);
      write(8);
      expect((await run(["rules", "push", file, "--publish"])).code).toBe(0);
      expect((await run(["rules", "push", file, "--publish"], "viewer")).code).toBe(0);
      write(9);
      for (const [flags, role] of [
        [["--publish"], "admin"],
        [["--publish", "--force"], "admin"],
        [[], "operator"],
      ] as const) {
        const viewer = await run(["rules", "push", file, ...flags], "viewer");
        expect(viewer.code).toBe(3);
        expect(viewer.err).toContain(`needs the role ${role}, and the viewer has the role viewer`);
        expect(viewer.err).not.toContain("--force");
      }
    });

    it("prints every problem of invalid rules with its line, and uploads nothing", async () => {
      writeFileSync(file, "version: 1\nrules:\n  - { id: a, key: ip, limt: 5 }\n");
      const { code, err } = await run(["rules", "push", file, "--publish", "--force"]);
      expect([code, err]).toEqual([1, expect.stringContaining(`${file}:3`)]);
      expect((await run("rules history --json")).out).not.toContain("draft");
    });
  });

  it("pulls what is published, compares a file with it, and rolls back", async () => {
    write(7);
    expect(await run(["rules", "diff", file])).toMatchObject({
      code: 1,
      out: expect.stringContaining("~ login"),
    });
    await run(["rules", "push", file, "--publish", "--force"]);
    expect((await run(["rules", "diff", file])).code).toBe(0);
    expect((await run("rules pull")).out).toBe(rules(7));
    const copy = `${file}.copy`;
    expect((await run(["rules", "pull", copy])).out).toBe(`wrote version 2 to ${copy}\n`);
    expect(readFileSync(copy, "utf8")).toBe(rules(7));
    expect((await run("rules rollback 1 --note back")).out).toBe("published version 3\n");
    expect((await run("rules rollback 3")).code).toBe(2);
  });

  it("sets plans and tenants field by field", async () => {
    await run("plans set pro --tier gold --limit login=50/minute");
    await run("plans set pro --limit login=60/minute");
    expect((await run("plans list")).out).toBe("plan  tier  limits\npro   gold  login=60/minute\n");
    expect((await run("plans set pro --limit login=")).out).toContain("limits    -");
    await run("tenants set acme --plan pro --attribute region=eu --reason new");
    const suspended = await run("tenants set acme --status suspended --json");
    expect(JSON.parse(suspended.out)).toMatchObject({
      plan: "pro",
      status: "suspended",
      attributes: { region: "eu" },
    });
    expect((await run("tenants list --plan pro")).out).toContain("acme    pro   suspended");
    expect(await run("tenants set acme --plan none")).toMatchObject({
      code: 2,
      err: expect.stringContaining('got "none"; create it first: sluice plans set none'),
    });
    expect(await run("tenants set acme --plan por")).toMatchObject({
      code: 2,
      err: expect.stringContaining('got "por"; did you mean pro?'),
    });
    expect(await run("plans remove pro")).toMatchObject({
      code: 1,
      err: expect.stringContaining("acme"),
    });
    expect((await run("tenants remove acme")).out).toBe("acme: removed\n");
  });

  it("says that nothing was changed, and leaves the audit log as it is", async () => {
    await run("plans set pro --tier gold");
    await run("tenants set acme --plan pro");
    const before = (await run("audit list --json")).out;
    const nothing = "nothing changed: it already has these values\n";
    for (const line of [
      "plans set pro",
      "plans set pro --tier gold",
      "tenants set acme --plan pro",
    ])
      expect(await run(line)).toMatchObject({ code: 0, err: nothing });
    expect((await run("audit list --json")).out).toBe(before);
  });

  it.each([
    ["plans show por", 'there is no plan "por"; did you mean pro?'],
    ["plans remove prp", "did you mean pro?"],
    ["tenants show acmee", 'there is no tenant "acmee"; did you mean acme?'],
    ["keys create --tenant acmr --name web", "did you mean acme?"],
    ["switch lgin off", 'no published rule has the id "lgin"; did you mean login?'],
    ["reset --rule lgin --key ip:203.0.113.7", "did you mean login?"],
    ["rules disable lgin", "did you mean login?"],
    ["top --once --rule lgin", 'there is no rule "lgin"; did you mean login?'],
  ])("%s: names what was probably meant, once", async (line, message) => {
    await run("plans set pro --tier gold");
    await run("tenants set acme --plan pro");
    const { code, err } = await run(line);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
    expect(err.match(/did you mean/g)).toHaveLength(1);
  });

  it("warns of an override for a tenant or an API key that is not there", async () => {
    await run("tenants set acme");
    const add = (subject: string) =>
      run(["overrides", "add", "--subject", subject, ...OVERRIDE, "--reason", "launch"]);
    expect(await add("tenant:acme")).toMatchObject({ code: 0, err: "" });
    expect(await add("user:42")).toMatchObject({ code: 0, err: "" });
    const warning =
      /^warning: .*there is no tenant "acmee"; did you mean acme\?; the override holds/;
    expect(await add("tenant:acmee")).toMatchObject({
      code: 0,
      err: expect.stringMatching(warning),
    });
    expect((await add("apiKey:7Hq2mZpVw9Tb")).err).toContain("there is no API key");
  });

  it("says what to add to a request that has nothing that a rule counts by", async () => {
    const { code, out, err } = await run("check --path /login");
    expect([code, out, err]).toEqual([
      1,
      "refused  login: the request has no value for the rule's key\n",
      "login counts by ip: add --ip\n",
    ]);
  });

  it("makes, rotates and revokes keys and tokens, whose secrets it prints once", async () => {
    await run("tenants set acme");
    const made = await run("keys create --tenant acme --name web --scope read --expires 90d");
    expect(made.out).toMatch(/^slk_\w+\nid \w{12}; the secret is not shown again\n$/);
    const id = made.out.match(/id (\w+)/)?.[1] ?? "";
    expect((await run(["keys", "rotate", id, "--overlap", "1h"])).out).toMatch(/^slk_/);
    await writeLastUses(admin.database, new Map([[id, hourOf(START_MS)]]));
    const listed = (await run("keys list --tenant acme")).out;
    expect(listed).not.toContain("slk_");
    expect(listed.split("\n")).toHaveLength(4);
    expect(listed).toMatch(/scopes +hour last used +expires/);
    expect(listed).toMatch(/web +read +never +2/);
    expect(listed).toMatch(new RegExp(`${id} .* 2023-11-14 22:00 UTC  2`));
    expect((await run(["keys", "revoke", id])).out).toBe(`${id}: revoked\n`);
    const token = await run("tokens create --name ci --role viewer");
    expect(token.out).toMatch(/^slt_/);
    expect((await run("tokens list")).out).toMatch(/ci +viewer/);
    const tokenId = token.out.match(/id (\w+)/)?.[1] ?? "";
    expect((await run(["tokens", "revoke", tokenId])).code).toBe(0);
    expect((await run("tokens create --name x --role root")).err).toContain("role must be one of");
  });

  it("adds overrides and blocks, and switches rules", async () => {
    const added = await run(
      "overrides add --subject tenant:acme --rule login --limit 500/minute --for 30d --reason launch",
    );
    expect(added.out).toMatch(/^\w{12}: tenant:acme {2}login {2}500\/minute {2}\d{4}-/);
    const id = added.out.slice(0, 12);
    expect((await run("overrides list --subject tenant:acme")).out).toContain("launch");
    expect((await run(["overrides", "remove", id])).code).toBe(0);
    const block = await run("blocks add ip:203.0.113.0/24 user:42 --reason abuse");
    expect(block.out).toContain("ip:203.0.113.0/24 user:42 blocked until it is removed");
    expect((await run("blocks list")).out).toContain("abuse");
    expect((await run(["blocks", "remove", block.out.slice(0, 12)])).code).toBe(0);
    expect((await run("switch login off --reason release", "operator")).out).toBe(
      "login: off on every node\n",
    );
    expect((await run("switch login deny")).out).toBe("login: deny on every node\n");
    expect((await run("switch --all deny")).out).toBe("all rules: deny on every node\n");
    expect((await run("switch")).out).toBe(
      "rule       state  reason\nall rules  deny   switched to deny with sluice switch\nlogin      deny   switched to deny with sluice switch\n",
    );
    expect((await run("switch login on")).out).toBe("login: on\n");
    expect((await run("switch login on")).out).toBe("login: on, as it was\n");
    expect(await run("switch login of")).toMatchObject({ code: 2 });
  });

  it("shows the audit log, page by page, and proves that it is intact", async () => {
    await run("plans set pro --reason first");
    await run("plans set free");
    const { out, err } = await run("audit list --kind plan --limit 1");
    expect(out).toMatch(/the admin +127\.0\.0\.1 +create +plan free/);
    expect(err).toMatch(/^there are more: add --after \d+\n$/);
    const after = err.match(/\d+/)?.[0] ?? "";
    expect((await run(`audit list --kind plan --after ${after}`)).out).toContain("first");
    expect(await run("audit verify")).toMatchObject({
      code: 0,
      out: expect.stringContaining("the audit log is intact"),
    });
    await admin.database.query("UPDATE audit SET reason = 'another' WHERE sequence = 3");
    expect(await run("audit verify")).toMatchObject({
      code: 1,
      out: expect.stringContaining("entry 3 was altered"),
    });
  });
});

it("says what to configure where there is no control plane", async () => {
  const control = { controlPlane: undefined, controlState: undefined };
  const admin = await startControlAdmin(await all[0].ready(), { control });
  const env = { SLUICE_ADMIN: admin.url };
  const { code, err } = await sluice(["plans", "set", "pro"], { env });
  expect([code, err]).toEqual([2, expect.stringContaining("control: { database:")]);
  await admin.close();
});

it("lists nodes, with what they are behind", async () => {
  const node = {
    kind: "control",
    version: "0.1.0",
    sequence: 7,
    seenAtMs: START_MS,
    via: "a",
  } as const;
  const nodes = async () => [
    { ...node, name: "a", behind: 0, isAway: false },
    { ...node, name: "b", kind: "follower" as const, sequence: 5, behind: 2, isAway: true },
  ];
  const admin = await startControlAdmin(await all[0].ready(), { control: { nodes } });
  const env = { SLUICE_ADMIN: admin.url, SLUICE_ADMIN_TOKEN: admin.tokens.viewer };
  const { out } = await sluice(["nodes", "list"], { env });
  expect(out.split("\n").slice(1, 3)).toEqual([
    "a     control   0.1.0    7       -       2023-11-14 22:13 UTC        a",
    "b     follower  0.1.0    5       2       2023-11-14 22:13 UTC, away  a",
  ]);
  await admin.close();
});
