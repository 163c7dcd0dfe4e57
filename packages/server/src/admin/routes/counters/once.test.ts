import { SluiceError } from "sluice";
import { type PostgresServer, startPostgres } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabases } from "../../../../test/control/databases.js";
import { startReplyCutter } from "../../../../test/control/reply-cutter.js";
import { KeyedActs } from "../../../control/changes/keyed-acts.js";
import type { Database } from "../../../database/database.js";
import { migrate } from "../../../database/migrate.js";
import { openDatabase } from "../../../database/open-database.js";
import { ActsOnce } from "./once.js";

const DAY_MS = 86_400_000;
const KEYED = { owner: "caller and key", request: "hash of the request" };
const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

/** Counts how often it is done. */
function counting() {
  let done = 0;
  const act = async () => ({ rule: "login", key: "ip:203.0.113.7", refunded: ++done });
  return { act, done: () => done };
}

describe.each(all)("acts of several control nodes over $name", (databases) => {
  async function start() {
    const clock = { nowMs: 1_700_000_000_000 };
    const shared = new KeyedActs(await databases.ready(), () => clock.nowMs);
    const [a, b] = [0, 1].map(() => new ActsOnce(() => clock.nowMs));
    return { clock, shared, a, b, ...counting() };
  }

  it("are done by one of them, and the other knows the answer", async () => {
    const { shared, a, b, act, done } = await start();
    const acted = await a.do(KEYED, shared, act);
    await shared.finish(KEYED, acted);
    expect(await b.do(KEYED, shared, act)).toEqual(acted);
    expect(done()).toBe(1);
    const other = b.do({ ...KEYED, request: "another" }, shared, act);
    await expect(other).rejects.toMatchObject({ code: "SLUICE_KEY_REUSED", status: 422 });
  });

  it("are done once if both are asked together, or one stops before it could answer", async () => {
    const { shared, a, b, act, done } = await start();
    const outcomes = await Promise.allSettled([a.do(KEYED, shared, act), b.do(KEYED, shared, act)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "SLUICE_IN_FLIGHT", status: 409 },
    });
    expect(done()).toBe(1);
  });

  it("that failed can be tried again, on any node", async () => {
    const { shared, a, b, act, done } = await start();
    const failing = a.do(KEYED, shared, () =>
      Promise.reject(new Error("the store is unavailable")),
    );
    await expect(failing).rejects.toThrow("unavailable");
    await b.do(KEYED, shared, act);
    expect(done()).toBe(1);
  });

  it("that may not be done twice are not tried again if the store failed, and are if the request was wrong", async () => {
    const { shared, a, b, act, done } = await start();
    const once = { mayRepeat: false };
    const wrong = new SluiceError("SLUICE_RULE_UNKNOWN", 'got "login"');
    await expect(a.do(KEYED, shared, () => Promise.reject(wrong), once)).rejects.toBe(wrong);
    const lost = new Error("the connection was lost");
    await expect(b.do(KEYED, shared, () => Promise.reject(lost), once)).rejects.toBe(lost);
    // To another node it is under way for as long as its own does not say more.
    const [asked, again] = [a.do(KEYED, shared, act, once), b.do(KEYED, shared, act, once)];
    await Promise.all([
      expect(asked).rejects.toMatchObject({ code: "SLUICE_IN_FLIGHT" }),
      expect(again).rejects.toMatchObject({ code: "SLUICE_OUTCOME_UNKNOWN", status: 409 }),
    ]);
    expect(done()).toBe(0);
  });

  it("are forgotten after a day", async () => {
    const { clock, shared, a, b, act, done } = await start();
    await shared.finish(KEYED, await a.do(KEYED, shared, act));
    clock.nowMs += DAY_MS;
    await b.do(KEYED, shared, act);
    expect(done()).toBe(1);
    clock.nowMs += 1;
    await new ActsOnce(() => clock.nowMs).do(KEYED, shared, act);
    expect(done()).toBe(2);
  });
});

describe("acts over PostgreSQL, if its connection is cut after a commit", () => {
  let server: PostgresServer;
  const opened: Database[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await server?.stop();
  });
  const open = (url: string) => {
    const database = openDatabase(url, "/");
    opened.push(database);
    return database;
  };

  it("are done once when they are sent again, wherever the answer was lost", async () => {
    const url = server.createDatabase();
    await migrate(open(url));
    const cutter = await startReplyCutter(server.port);
    const shared = new KeyedActs(
      open(url.replace(`:${server.port}/`, `:${cutter.port}/`)),
      Date.now,
    );
    const other = new KeyedActs(open(url), Date.now);
    const once = new ActsOnce(Date.now);
    const { act, done } = counting();
    for (let n = 0; n < 30; n++) {
      const keyed = { owner: `key ${n}`, request: `request ${n}` };
      const send = async () => {
        const acted = await once.do(keyed, shared, act, { mayRepeat: false });
        await shared.finish(keyed, acted);
        return acted;
      };
      cutter.cutAfterReplies = n % 8;
      let acted: object | undefined;
      for (let sent = 0; acted === undefined && sent < 5; sent++) {
        acted = await send().catch((error) => {
          expect(error).toMatchObject({ code: "SLUICE_DATABASE_UNAVAILABLE" });
          return undefined;
        });
      }
      expect(acted).toMatchObject({ refunded: n + 1 });
      expect(await new ActsOnce(Date.now).do(keyed, other, act)).toEqual(acted);
      expect(done()).toBe(n + 1);
    }
    expect(cutter.cuts).toBeGreaterThan(10);
    cutter.server.close();
  });
});

describe("acts of a node without a database", () => {
  it("are done once, also while the first is under way, and again after a day", async () => {
    let nowMs = 0;
    const once = new ActsOnce(() => nowMs);
    const { act, done } = counting();
    const acted = await Promise.all([1, 2].map(() => once.do(KEYED, undefined, act)));
    expect(acted[0]).toBe(acted[1]);
    const other = once.do({ ...KEYED, request: "another" }, undefined, act);
    await expect(other).rejects.toMatchObject({ code: "SLUICE_KEY_REUSED" });
    nowMs = DAY_MS;
    await once.do(KEYED, undefined, act);
    expect(done()).toBe(2);
  });

  it("are 10,000 at most, and the oldest is forgotten first", async () => {
    const once = new ActsOnce(() => 0);
    const { act, done } = counting();
    for (let i = 0; i <= 10_000; i++) await once.do({ owner: `${i}`, request: "" }, undefined, act);
    await once.do({ owner: "1", request: "" }, undefined, act);
    expect(done()).toBe(10_001);
    await once.do({ owner: "0", request: "" }, undefined, act);
    expect(done()).toBe(10_002);
  });
});
