// Deposits in memory and in Redis answer alike: one table of claims runs on both, and random traces are compared step by step.

import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eternalKeys } from "../../../test/redis/servers.js";
import { SeededRandom } from "../../testing/conformance/random.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { DepositAsk, DepositPart, DepositStore } from "../deposit-store.js";
import { memoryStore } from "../memory/memory-store.js";
import type { Store } from "../store.js";
import { redisStore } from "./redis-store.js";

const START_MS = 1_800_000_000_000;
let server: RedisProcess;
let client: Redis;
let clock: ManualClock;
let count = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});
beforeEach(() => {
  clock = new ManualClock(START_MS);
});

const KINDS: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  Redis: () => redisStore(client, { clock, prefix: `deposits-${count++}` }),
};

const place = { scope: "login", part: 0, version: "v1", key: "ip:203.0.113.10" };

/** The verbs with the time of the clock, as a decorator passes it. */
function toVerbs(store: Store) {
  const deposits = store.deposits as DepositStore;
  return {
    take: async (units: number, how: Partial<DepositAsk> = {}) =>
      deposits.take({
        place,
        units,
        lifeMsMin: 0,
        isNew: true,
        nowMs: clock.now(),
        blockNowMs: clock.now(),
        ...how,
      }),
    deposit: async (id: string, units: number, lifeMs: number) =>
      deposits.deposit({
        place,
        id,
        units,
        expiresAtMs: clock.now() + lifeMs,
        lifeMsMax: lifeMs,
        resetAtMs: clock.now() + 60_000,
        nowMs: clock.now(),
      }),
    restore: async (parts: readonly DepositPart[]) => deposits.restore(place, parts, clock.now()),
    withdraw: async (id: string | undefined, idleMsMin = 0) =>
      deposits.withdraw({ place, id, idleMsMin, nowMs: clock.now() }),
  };
}

describe.each(Object.keys(KINDS))("deposits in %s", (kind) => {
  let store: Store;
  let verbs: ReturnType<typeof toVerbs>;
  beforeEach(() => {
    store = KINDS[kind]();
    verbs = toVerbs(store);
  });

  it("report whether a deposit was added: one that has expired is not", async () => {
    expect(await verbs.deposit("a", 10, 5_000)).toBe(true);
    expect(await verbs.deposit("b", 10, 0)).toBe(false);
    expect(await verbs.take(11)).toMatchObject({ isCovered: false, left: 10 });
  });

  it("have nothing at first, and ask one process to fetch a lease for a key that comes again", async () => {
    const first = await verbs.take(3);
    expect(first).toMatchObject({ isCovered: false, parts: [], left: 0, isDue: false });
    expect(first.nowMs).toBe(START_MS);
    expect((await verbs.take(3)).isDue).toBe(true);
    expect((await verbs.take(3)).isDue).toBe(false);
    clock.advance(1_000);
    expect((await verbs.take(3)).isDue).toBe(true);
  });

  it("are taken all or nothing, those that expire first first", async () => {
    await verbs.deposit("late", 5, 4_000);
    await verbs.deposit("early", 3, 2_000);
    expect(await verbs.take(9)).toMatchObject({ isCovered: false, left: 8 });
    const { parts, left } = await verbs.take(4);
    expect(parts).toEqual([
      { id: "early", units: 3 },
      { id: "late", units: 1 },
    ]);
    expect(left).toBe(4);
  });

  it("are not spent once they have expired, nor by who would hold them for longer than they live", async () => {
    await verbs.deposit("a", 5, 2_000);
    expect((await verbs.take(1, { lifeMsMin: 2_000 })).isCovered).toBe(false);
    expect((await verbs.take(1, { lifeMsMin: 1_999 })).isCovered).toBe(true);
    clock.advance(1_999);
    expect((await verbs.take(1)).isCovered).toBe(true);
    clock.advance(1);
    expect(await verbs.take(1)).toMatchObject({ isCovered: false, left: 0 });
  });

  it("are not spent while a clock that stepped back shows a time before they were written", async () => {
    await verbs.deposit("a", 5, 2_000);
    clock.set(START_MS - 1);
    expect(await verbs.take(1)).toMatchObject({ isCovered: false, left: 0 });
  });

  it("are not spent either when that clock is there again, but still return to who leased them", async () => {
    await verbs.deposit("a", 5, 2_000);
    clock.set(START_MS - 60_000);
    await verbs.take(1);
    clock.set(START_MS);
    expect(await verbs.take(1)).toMatchObject({ isCovered: false, left: 0 });
    expect(await verbs.withdraw("a")).toBe(5);
  });

  it("are not added if they expired on their way, and live no longer than they may", async () => {
    await verbs.deposit("gone", 5, 0);
    expect((await verbs.take(0)).left).toBe(0);
    await (store.deposits as DepositStore).deposit({
      place,
      id: "a",
      units: 5,
      expiresAtMs: clock.now() + 60_000,
      lifeMsMax: 1_000,
      resetAtMs: clock.now(),
      nowMs: clock.now(),
    });
    clock.advance(1_000);
    expect((await verbs.take(1)).isCovered).toBe(false);
  });

  it("ask for the next lease when half is spent, or half of their life is over", async () => {
    await verbs.deposit("a", 10, 4_000);
    expect((await verbs.take(5)).isDue).toBe(false);
    expect((await verbs.take(1)).isDue).toBe(true);
    await verbs.deposit("b", 10, 4_000);
    clock.advance(1_999);
    expect((await verbs.take(1)).isDue).toBe(false);
    clock.advance(1);
    expect((await verbs.take(1)).isDue).toBe(true);
  });

  it("return what was taken to where it came from, unless that was withdrawn", async () => {
    await verbs.deposit("a", 5, 2_000);
    const { parts } = await verbs.take(4);
    await verbs.restore([{ id: parts[0].id, units: 3 }]);
    expect((await verbs.take(0)).left).toBe(4);
    expect(await verbs.withdraw("a")).toBe(4);
    await verbs.restore([{ id: "a", units: 1 }]);
    expect((await verbs.take(0)).left).toBe(0);
  });

  it("can be withdrawn after they expired, but not if one that has to be idle is not", async () => {
    await verbs.deposit("a", 5, 2_000);
    await verbs.take(1);
    clock.advance(999);
    expect(await verbs.withdraw("a", 1_000)).toBeUndefined();
    clock.advance(1);
    expect(await verbs.withdraw("a", 1_000)).toBe(4);
    expect(await verbs.withdraw("a")).toBe(0);
    await verbs.deposit("b", 5, 2_000);
    clock.advance(5_000);
    expect(await verbs.withdraw(undefined)).toBe(5);
  });

  it("are not taken by a blocked key", async () => {
    await verbs.deposit("a", 5, 2_000);
    await store.block(place.scope, place.key, {
      untilMs: clock.now() + 500,
      nowMs: clock.now(),
    });
    expect(await verbs.take(1)).toMatchObject({ isCovered: false, blockedMs: 500, left: 5 });
    clock.advance(500);
    expect((await verbs.take(1)).isCovered).toBe(true);
  });

  it("are apart for every version, part, scope and key", async () => {
    await verbs.deposit("a", 5, 2_000);
    const others = [{ version: "v2" }, { part: 1 }, { scope: "other" }, { key: "ip:::1" }];
    for (const other of others) {
      expect((await verbs.take(1, { place: { ...place, ...other } })).isCovered).toBe(false);
    }
    expect((await verbs.take(5)).isCovered).toBe(true);
  });

  it("say how much was asked for lately, and forget it after a pause", async () => {
    for (let i = 0; i < 4; i++) await verbs.take(5);
    clock.advance(100);
    expect((await verbs.take(5)).demand).toEqual({ asks: 5, units: 25, inMs: 100 });
    await verbs.take(7, { isNew: false });
    clock.advance(4_900);
    expect((await verbs.take(5)).demand).toEqual({ asks: 3, units: 17, inMs: 2_500 });
    clock.advance(20_000);
    expect((await verbs.take(5)).demand).toEqual({ asks: 1, units: 5, inMs: 0 });
  });
});

it("answers in Redis as in memory over random traces, with a TTL on every key", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    clock = new ManualClock(START_MS);
    const random = new SeededRandom(`deposits ${seed}`);
    const both = [KINDS.memory(), KINDS.Redis()].map(toVerbs);
    const ids: string[] = [];
    let taken: readonly DepositPart[] = [];
    for (let step = 0; step < 40; step++) {
      clock.advance(random.between(0, 3) === 0 ? random.between(0, 2_500) : random.between(0, 50));
      if (random.chance(0.05)) clock.set(clock.now() - random.between(1, 3_000));
      const one = ids[random.between(0, Math.max(1, ids.length))];
      const units = random.between(0, 12);
      const verb = random.between(0, 5);
      const how = { lifeMsMin: random.between(0, 1) * 500, isNew: random.between(0, 3) > 0 };
      const lifeMs = random.between(0, 4_000);
      const idleMs = random.between(0, 1) * 700;
      const parts = taken;
      const answers = await Promise.all(
        both.map(async (each) => {
          if (verb === 0) return each.deposit(`d${step}`, units, lifeMs);
          if (verb === 1) return each.withdraw(one, idleMs);
          if (verb === 2) return each.restore(parts);
          return each.take(units, how);
        }),
      );
      expect(answers[1] ?? null, `seed ${seed}, step ${step}`).toEqual(answers[0] ?? null);
      if (verb === 0) ids.push(`d${step}`);
      const answer = answers[0];
      taken = typeof answer === "object" ? answer.parts : verb === 2 ? [] : taken;
    }
  }
  expect(await eternalKeys(server)).toEqual([]);
});
