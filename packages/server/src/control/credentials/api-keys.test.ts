import { webcrypto } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { FullKeyResolver } from "../../../test/control/full-key-resolver.js";
import { Changes } from "../changes/changes.js";
import { DatabaseFeed } from "../feed/database-feed.js";
import { Follower } from "../state/follower.js";
import { ApiKeys } from "./api-keys.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = (id = `change-${++ids}`) => ({ id, actor: "anna", origin: "local", reason: "a test" });
const START = 1_700_000_000_000;

describe.each(all)("API keys in $name", (databases) => {
  async function start() {
    const database = await databases.ready();
    const clock = { nowMs: START };
    const changes = new Changes(database);
    const fillRandom = (bytes: Uint8Array) => {
      webcrypto.getRandomValues(bytes);
    };
    const keys = new ApiKeys(database, changes, { fillRandom, now: () => clock.nowMs });
    await changes.apply(by(), () => [
      { action: "create", kind: "plan", id: "pro", body: { tier: "gold" } },
      { action: "create", kind: "tenant", id: "acme", body: { plan: "pro" } },
      { action: "create", kind: "tenant", id: "bolt", body: { plan: "free" } },
    ]);
    const resolve = async (secret: string) => {
      const follower = new Follower({ feed: new DatabaseFeed(database) });
      await follower.start();
      await follower.close();
      const resolver = new FullKeyResolver({
        state: follower.state,
        lookUp: async () => undefined,
        lookupsPerSecond: 10,
        unknownKeys: "refuse",
        now: () => clock.nowMs,
      });
      const found = await resolver.resolve(secret);
      resolver.close();
      return found;
    };
    return { database, clock, keys, resolve };
  }

  it("are resolved on a node to their tenant and scopes, and kept as a hash", async () => {
    const { database, keys, resolve } = await start();
    const { secret, ...key } = await keys.create(by(), {
      tenant: "acme",
      name: "server",
      scopes: ["orders:read"],
    });
    expect(await resolve(secret)).toEqual({
      id: key.id,
      tenant: "acme",
      plan: "pro",
      tier: "gold",
      scopes: ["orders:read"],
      attributes: undefined,
    });
    const kept = JSON.stringify([
      await database.query("SELECT * FROM entities"),
      await database.query("SELECT * FROM audit"),
    ]);
    expect(kept).not.toContain(secret.split("_")[2]);
    expect(await resolve(`${secret}x`)).toBeUndefined();
  });

  it("that are rotated both work during the overlap, then only the new one", async () => {
    const { clock, keys, resolve } = await start();
    const old = await keys.create(by(), { tenant: "acme", name: "server" });
    const fresh = await keys.rotate(by(), { id: old.id, overlapMs: 1_000 });
    expect(fresh).toMatchObject({ tenant: "acme", name: "server", expiresAtMs: undefined });
    clock.nowMs += 999;
    expect([await resolve(old.secret), await resolve(fresh.secret)]).toMatchObject([
      { id: old.id },
      { id: old.id },
    ]);
    clock.nowMs += 1;
    expect(await resolve(old.secret)).toBeUndefined();
    expect(await resolve(fresh.secret)).toMatchObject({ id: old.id });
    const third = await keys.rotate(by(), { id: fresh.id, overlapMs: 0 });
    expect(await resolve(third.secret)).toMatchObject({ id: old.id });
    const again = keys.rotate(by(), { id: old.id, overlapMs: 0 });
    await expect(again).rejects.toThrow(`rotated before, to ${fresh.id}`);
  });

  it("that are rotated twice by one change are rotated once, and the secret is not shown again", async () => {
    const { keys } = await start();
    const old = await keys.create(by(), { tenant: "acme", name: "server" });
    await keys.rotate(by("rotation"), { id: old.id, overlapMs: 0 });
    const repeated = keys.rotate(by("rotation"), { id: old.id, overlapMs: 0 });
    await expect(repeated).rejects.toThrow("its secret is not shown again");
    expect(await keys.list({ tenant: "acme" })).toHaveLength(2);
  });

  it("that are revoked or expired are unknown", async () => {
    const { clock, keys, resolve } = await start();
    const revoked = await keys.create(by(), { tenant: "acme", name: "a" });
    const expiring = await keys.create(by(), { tenant: "acme", name: "b", expiresAtMs: START + 5 });
    await keys.revoke(by(), revoked.id);
    expect(await resolve(revoked.secret)).toBeUndefined();
    expect(await resolve(expiring.secret)).toBeDefined();
    clock.nowMs += 5;
    expect(await resolve(expiring.secret)).toBeUndefined();
    await expect(keys.revoke(by(), revoked.id)).rejects.toMatchObject({ status: 404 });
  });

  it("are listed by tenant, page by page", async () => {
    const { keys } = await start();
    for (let n = 0; n < 5; n++)
      await keys.create(by(), { tenant: n % 2 === 0 ? "acme" : "bolt", name: `${n}` });
    const first = await keys.list({ tenant: "acme", limit: 2 });
    const rest = await keys.list({ tenant: "acme", limit: 2, after: first.at(-1)?.id ?? "" });
    expect([...first, ...rest].map(({ name }) => name).sort()).toEqual(["0", "2", "4"]);
    expect(await keys.list()).toHaveLength(5);
  });

  it.each([
    [{ tenant: "acme", name: " " }, "name must be"],
    [{ tenant: "acme", name: "x", scopes: ["a b"] }, 'got "a b"'],
    [{ tenant: "acme", name: "x", scopes: "all" }, "scopes must be a list"],
    [{ tenant: "acme", name: "x", expiresAtMs: Number.NaN }, "expiresAtMs must be"],
    [{ tenant: "none", name: "x" }, 'tenant "none"'],
  ])("refuse %j", async (input, message) => {
    const { keys } = await start();
    await expect(keys.create(by(), input as never)).rejects.toThrow(message);
    expect(await keys.list()).toEqual([]);
  });
});
