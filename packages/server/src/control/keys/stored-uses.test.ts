import { afterAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { ControlPlane } from "../control-plane.js";
import { startOfHourMs } from "./key-uses.js";
import { writeLastUses } from "./stored-uses.js";

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const HOUR = 500_000;
const now = () => startOfHourMs(HOUR) + 1;

describe.each(all)("the last use of API keys in $name", (databases) => {
  async function start() {
    const database = await databases.ready();
    const plane = new ControlPlane({ database });
    for (const id of ["acme", "bolt"]) await plane.tenants.put(by(), { id, input: {} });
    const make = (tenant: string) => plane.apiKeys.create(by(), { tenant, name: "server" });
    const write = (...uses: [id: string, hour: number][]) =>
      writeLastUses(database, new Map(uses), now);
    return { database, plane, apiKeys: plane.apiKeys, make, write };
  }

  it("is null until a use is stored, and then the start of the latest hour", async () => {
    const { apiKeys, make, write } = await start();
    const key = await make("acme");
    expect(key.lastUsedAtMs).toBeNull();
    expect((await apiKeys.get(key.id)).lastUsedAtMs).toBeNull();
    for (const [hour, latest] of [
      [HOUR - 5, HOUR - 5],
      [HOUR - 2, HOUR - 2],
      [HOUR - 3, HOUR - 2],
      // A clock that is ahead.
      [HOUR + 9, HOUR],
    ] as const) {
      await write([key.id, hour]);
      expect((await apiKeys.get(key.id)).lastUsedAtMs).toBe(startOfHourMs(latest));
    }
  });

  it("is in lists of all keys, of a tenant, and of a page", async () => {
    const { apiKeys, make, write } = await start();
    const keys = [await make("acme"), await make("bolt"), await make("acme"), await make("bolt")];
    const unused = keys.pop()?.id;
    await write(...keys.map(({ id }, n): [string, number] => [id, HOUR - n]));
    const hours = new Map(keys.map(({ id }, n) => [id, startOfHourMs(HOUR - n)]));
    const listed = await apiKeys.list();
    expect(listed).toHaveLength(4);
    for (const { id, lastUsedAtMs } of listed) expect(lastUsedAtMs).toBe(hours.get(id) ?? null);
    expect(listed.find(({ id }) => id === unused)?.lastUsedAtMs).toBeNull();
    expect(await apiKeys.list({ after: listed[0]?.id ?? "", limit: 2 })).toEqual(
      listed.slice(1, 3),
    );
    const ofAcme = await apiKeys.list({ tenant: "acme" });
    expect(ofAcme).toEqual(listed.filter(({ tenant }) => tenant === "acme"));
    expect(await apiKeys.list({ tenant: "none" })).toEqual([]);
  });

  it("goes with the key, is not stored for keys that are not there, and is not a change", async () => {
    const { database, plane, apiKeys, make, write } = await start();
    const [revoked, rotated] = [await make("acme"), await make("acme")];
    await write([revoked.id, HOUR], [rotated.id, HOUR], ["invented", HOUR]);
    const rows = () => database.query("SELECT key_id FROM key_uses");
    expect(await rows()).toHaveLength(2);
    const [latest] = await plane.searchAudit({ limit: 1 });
    expect(latest?.entityId).toBe(rotated.id);
    await apiKeys.revoke(by(), revoked.id);
    await write([revoked.id, HOUR]);
    const fresh = await apiKeys.rotate(by(), { id: rotated.id, overlapMs: 1_000 });
    expect(await rows()).toEqual([{ key_id: rotated.id }]);
    expect((await apiKeys.get(fresh.id)).lastUsedAtMs).toBeNull();
    expect(JSON.stringify(await plane.searchAudit())).not.toContain("lastUsed");
  });

  it("is stored by many nodes at the same time", async () => {
    const { apiKeys, make, write } = await start();
    const keys = await Promise.all(Array.from({ length: 20 }, () => make("acme")));
    const uses = keys.map(({ id }): [string, number] => [id, HOUR - 1]);
    const later = uses.map(([id]): [string, number] => [id, HOUR]).reverse();
    await Promise.all([write(...uses), write(...later), write(...uses), write(...later)]);
    const shown = (await apiKeys.list()).map(({ lastUsedAtMs }) => lastUsedAtMs);
    expect(new Set(shown)).toEqual(new Set([startOfHourMs(HOUR)]));
  });
});
