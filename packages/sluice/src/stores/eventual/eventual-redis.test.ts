// Blocks over Redis, whose answers to debits show blocks as a memory store's do not.

import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import { type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MaybePromise } from "../../base/maybe-promise.js";
import { fixedWindow } from "../../limits/limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { ForwardingStore } from "../forwarding-store.js";
import { redisStore } from "../redis/redis-store.js";
import type { Charge } from "../store.js";
import { eventual } from "./eventual.js";

const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const SYNC_MS = 100;
/** Blocks of other processes are learned within a second and a sync. */
const LEARNED_MS = 1_500;
const counter = { scope: "test", part: 0, limit: fixedWindow({ limit: 100, windowMs: HOUR_MS }) };
const terms = { refusals: 1, windowMs: 60_000, blocksMs: [HOUR_MS], forgetMs: HOUR_MS };

let server: RedisProcess;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.port, server.host);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Knows when it has answered everything. */
class Counting extends ForwardingStore {
  #open = 0;

  override debit(charges: readonly Charge[]) {
    return this.#count(super.debit(charges));
  }

  override peek(charges: readonly Charge[]) {
    return this.#count(super.peek(charges));
  }

  /** Resolves when no answer is awaited any more. */
  async idle(): Promise<void> {
    do await setImmediate();
    while (this.#open > 0);
  }

  async #count<T>(answer: MaybePromise<T>): Promise<T> {
    this.#open++;
    try {
      return await answer;
    } finally {
      this.#open--;
    }
  }
}

describe.each(["operator", "escalation"] as const)("a block by an %s", (by) => {
  it("holds in each process for as long as it lasts, until one of them ends it", async () => {
    const clock = new ManualClock(START_MS);
    const node = () => {
      const inner = new Counting(redisStore(client, { clock, prefix: by }));
      return { inner, store: eventual(inner, { clock, syncMs: SYNC_MS }) };
    };
    const nodes = [node(), node()];
    const [{ store: one }, { store: other }] = nodes;
    const ask = () =>
      nodes.map(({ store }) => store.decideOne(counter, "key", 1, clock.now()).blockedMs);
    /** Goes on asking, and lets every sync end before the clock moves on. */
    const keepAsking = async (ms: number) => {
      for (let passedMs = 0; passedMs < ms; passedMs += SYNC_MS) {
        ask();
        clock.advance(SYNC_MS);
        await Promise.all(nodes.map(({ inner }) => inner.idle()));
      }
    };
    await keepAsking(LEARNED_MS);
    const nowMs = clock.now();
    if (by === "operator") {
      await one.block("test", "key", { untilMs: nowMs + HOUR_MS, nowMs });
    } else {
      const report = { scope: "test", key: "key", blockScopes: ["test"], terms, nowMs };
      await one.escalate([{ ...report, refusals: 1, ageMs: 0 }]);
    }
    await keepAsking(3 * LEARNED_MS);
    const leftMs = HOUR_MS - (clock.now() - nowMs);
    expect(ask()).toEqual([leftMs, leftMs]);
    await other.unblock("test", "key");
    await keepAsking(LEARNED_MS);
    expect(ask()).toEqual([undefined, undefined]);
    await Promise.all([one.close(), other.close()]);
  });
});
