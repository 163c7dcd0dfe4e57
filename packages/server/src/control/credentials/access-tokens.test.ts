import { webcrypto } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { Changes } from "../changes/changes.js";
import { AccessTokens, mayActAs, ROLES } from "./access-tokens.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const START = 1_700_000_000_000;

describe.each(all)("access tokens in $name", (databases) => {
  async function start() {
    const database = await databases.ready();
    const clock = { nowMs: START };
    const fillRandom = (bytes: Uint8Array) => {
      webcrypto.getRandomValues(bytes);
    };
    const now = () => clock.nowMs;
    return {
      database,
      clock,
      tokens: new AccessTokens(database, new Changes(database), { fillRandom, now }),
    };
  }

  it("are checked by their secret, of which the database and the audit log have only a hash", async () => {
    const { database, tokens } = await start();
    await tokens.createFirst(by());
    const { secret, ...token } = await tokens.create(by(), { name: "ci", role: "operator" });
    expect(await tokens.check(secret)).toEqual(token);
    const kept = JSON.stringify([
      await database.query("SELECT * FROM entities"),
      await database.query("SELECT * FROM audit"),
    ]);
    expect(kept).not.toContain(secret);
    expect(kept).not.toContain(secret.split("_")[2]);
  });

  it("are refused when they are unknown, altered, revoked or expired", async () => {
    const { clock, tokens } = await start();
    await tokens.createFirst(by());
    const expiring = await tokens.create(by(), {
      name: "a",
      role: "viewer",
      expiresAtMs: START + 10,
    });
    const revoked = await tokens.create(by(), { name: "b", role: "admin" });
    await tokens.revoke(by(), revoked.id);
    expect(await tokens.check(revoked.secret)).toBeUndefined();
    clock.nowMs += 9;
    expect(await tokens.check(expiring.secret)).toMatchObject({ name: "a" });
    clock.nowMs += 1;
    expect(await tokens.check(expiring.secret)).toBeUndefined();
    const other = (await tokens.create(by(), { name: "c", role: "viewer" })).secret.split("_");
    const forged = [other[0], expiring.id, other[2], other[3]].join("_");
    expect(await tokens.check(forged)).toBeUndefined();
    expect(await tokens.check("hello")).toBeUndefined();
  });

  it("begin with one admin token, made once however many nodes start together", async () => {
    const { tokens } = await start();
    const made = await Promise.all([1, 2, 3].map(() => tokens.createFirst(by())));
    const [first, ...others] = made.filter((token) => token !== undefined);
    expect(others).toEqual([]);
    expect(await tokens.check(first?.secret ?? "")).toMatchObject({ role: "admin" });
    expect(await tokens.createFirst(by())).toBeUndefined();
  });

  it("always leave an admin", async () => {
    const { tokens } = await start();
    const first = await tokens.createFirst(by());
    await expect(tokens.revoke(by(), first?.id ?? "")).rejects.toThrow("last admin token");
    await tokens.create(by(), { name: "second", role: "admin" });
    await tokens.revoke(by(), first?.id ?? "");
    expect((await tokens.list()).map(({ name }) => name)).toEqual(["second"]);
    await expect(tokens.revoke(by(), "unknown")).rejects.toMatchObject({ status: 404 });
  });

  it.each(["viewer", "operator", "node"])("begin with an admin, not with a %s", async (role) => {
    const { clock, tokens } = await start();
    const create = () => tokens.create(by(), { name: "me", role });
    await expect(create()).rejects.toMatchObject({
      code: "SLUICE_CONFLICT",
      message: expect.stringContaining(
        "make one first: sluice tokens create --name NAME --role admin",
      ),
    });
    expect(await tokens.list()).toEqual([]);
    await tokens.create(by(), { name: "boss", role: "admin", expiresAtMs: START + 10 });
    expect(await create()).toMatchObject({ role });
    clock.nowMs += 10;
    await expect(create()).rejects.toThrow("there is no admin token");
  });

  it("are listed and revoked however many there are", async () => {
    const { database, tokens } = await start();
    const edits = Array.from({ length: 1_001 }, (_, n) => ({
      action: "create",
      kind: "access-token" as const,
      id: `token-${String(n).padStart(6, "0")}`,
      body: { name: "many", role: "viewer", createdAtMs: START, hash: "" },
    }));
    await new Changes(database).apply(by(), () => edits);
    const { id } = edits[1_000];
    expect((await tokens.list()).map((token) => token.id)).toContain(id);
    await tokens.revoke(by(), id);
    expect(await tokens.list()).toHaveLength(1_000);
  });

  it.each([
    [{ name: "", role: "admin" }, "name must be"],
    [{ name: "x", role: "root" }, 'role must be one of viewer, operator, admin, node, got "root"'],
    [{ name: "x", role: "viewer", expiresAtMs: 1.5 }, "expiresAtMs must be"],
  ])("refuse %j", async (input, message) => {
    const { tokens } = await start();
    await expect(tokens.create(by(), input as never)).rejects.toThrow(message);
  });
});

it("a role includes those before it, and only an admin may do what a node does", () => {
  const table = ROLES.map((role) => ROLES.map((needed) => mayActAs(role, needed)));
  expect(table).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, true, true],
    [false, false, false, true],
  ]);
});

it("the same change sent again makes no second token, and does not show the secret of the first", async () => {
  const database = await all[0].ready();
  const tokens = new AccessTokens(database, new Changes(database), {
    fillRandom: (bytes) => void webcrypto.getRandomValues(bytes),
    now: () => START,
  });
  const change = by();
  await tokens.create(change, { name: "ci", role: "admin" });
  await expect(tokens.create(change, { name: "ci", role: "admin" })).rejects.toMatchObject({
    status: 409,
  });
});
