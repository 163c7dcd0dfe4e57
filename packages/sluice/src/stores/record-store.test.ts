// Records in memory and in Redis answer alike: one table of claims runs on both.

import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eternalKeys } from "../../test/redis/servers.js";
import { startTimer } from "../base/clock.js";
import { ManualClock } from "../testing/manual-clock.js";
import { ForwardingStore } from "./forwarding-store.js";
import { memoryStore } from "./memory/memory-store.js";
import { RECORD_MS, type RecordStore } from "./record-store.js";
import { redisStore } from "./redis/redis-store.js";
import { resilient } from "./resilient/resilient.js";
import type { Store } from "./store.js";

const START_MS = 1_800_000_000_000;
const clock = new ManualClock(START_MS);
let server: RedisProcess;
let client: Redis;
let count = 0;

beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** A store that answers later. */
class FarStore extends ForwardingStore {
  latencyMs = 200;
  readonly #clock: ManualClock;

  constructor(inner: Store, clock: ManualClock) {
    super(inner);
    this.#clock = clock;
  }

  override get isRemote(): boolean {
    return true;
  }

  override get records(): RecordStore {
    const inner = this.inner.records as RecordStore;
    const later = <T>(call: () => T) =>
      new Promise<T>((resolve) => startTimer(this.#clock, this.latencyMs, () => resolve(call())));
    return {
      read: async (name, nowMs) => later(() => inner.read(name, nowMs)),
      change: async (change) => later(() => inner.change(change)),
    };
  }
}

const toRedis = () => redisStore(client, { clock, prefix: `records-${count++}` });
const KINDS: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  Redis: toRedis,
  "a guarded Redis": () => resilient(toRedis(), { timeoutMs: 10_000 }),
};

describe.each(Object.keys(KINDS))("records in %s", (kind) => {
  const make = () => {
    const records = KINDS[kind]().records as RecordStore;
    return {
      read: async (name = "plan") => (await records.read(name, clock.now())).value,
      change: async (before: string | undefined, value: string, untilMs = clock.now()) =>
        records.change({ name: "plan", before, value, untilMs, nowMs: clock.now() }),
      records,
    };
  };

  it("say nothing at first, and then what was written", async () => {
    const { read, change } = make();
    expect(await read()).toBeUndefined();
    expect(await change(undefined, '{"a":"é"}')).toBe(true);
    expect(await read()).toBe('{"a":"é"}');
    expect(await read("other")).toBeUndefined();
  });

  it("change only from what was read", async () => {
    const { read, change } = make();
    await change(undefined, "1");
    expect(await change(undefined, "2")).toBe(false);
    expect(await change("0", "2")).toBe(false);
    expect(await change("", "2")).toBe(false);
    expect(await change("1", "2")).toBe(true);
    expect(await change("1", "3")).toBe(false);
    expect(await read()).toBe("2");
  });

  it("change by the store's clock until then, and not later", async () => {
    const { read, change } = make();
    expect(await change(undefined, "1", clock.now() - 1)).toBe(false);
    expect(await read()).toBeUndefined();
    expect(await change(undefined, "1", clock.now())).toBe(true);
  });

  it("say what time it is", async () => {
    const { records } = make();
    expect(await records.read("plan", clock.now())).toMatchObject({ nowMs: clock.now() });
  });
});

it("forgets a record in memory that was not changed for a month", () => {
  const { records } = memoryStore();
  records.change({ name: "a", before: undefined, value: "1", untilMs: START_MS, nowMs: START_MS });
  expect(records.read("a", START_MS + RECORD_MS - 1).value).toBe("1");
  expect(records.read("a", START_MS + RECORD_MS).value).toBeUndefined();
});

it("leaves no key in Redis without an end", async () => {
  expect(await client.dbsize()).toBeGreaterThan(0);
  expect(await eternalKeys(server)).toEqual([]);
});

it("waits a second for records of a guarded store, which may be in a region far away", async () => {
  const time = new ManualClock(START_MS);
  const far = new FarStore(memoryStore(), time);
  const records = resilient(far, { clock: time, timeoutMs: 50 }).records as RecordStore;
  const answer = Promise.resolve(records.read("plan", time.now()));
  time.advance(200);
  expect(await answer).toMatchObject({ value: undefined });
  far.latencyMs = 2_000;
  const late = Promise.resolve(records.read("plan", time.now()));
  time.advance(1_000);
  await expect(late).rejects.toMatchObject({ code: "SLUICE_STORE_UNAVAILABLE" });
});
