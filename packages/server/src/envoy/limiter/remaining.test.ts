// What is said of the descriptors that would pass when another one is refused out of the deny cache.

import { denyCache, ForwardingStore, memoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, it } from "vitest";
import { descriptor, limiterOf, START_MS } from "../../../test/envoy-harness.js";
import type { Descriptor } from "../messages.js";

const FILE = `
domain: web
descriptors:
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 10 }
  - key: trial
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
`;

/** Counts what reaches it, and may fail to answer. */
class CountingStore extends ForwardingStore {
  calls = 0;
  isGone = false;
  override decide(...args: Parameters<ForwardingStore["decide"]>) {
    this.calls++;
    return super.decide(...args);
  }
  override async peek(...args: Parameters<ForwardingStore["peek"]>) {
    this.calls++;
    if (this.isGone) throw new Error("gone");
    return super.peek(...args);
  }
}

/** A limiter over a deny cache, whose key `ip=1` is exhausted and known to be. */
async function makeLimiter() {
  const clock = new ManualClock(START_MS);
  const store = new CountingStore(memoryStore());
  const limiter = limiterOf(FILE, clock, { store: denyCache(store, { clock }) });
  const ask = async (...descriptors: Descriptor[]) => {
    const { statuses } = await limiter.decide({ domain: "web", descriptors, hits: 0 });
    return statuses.map(({ code, remaining }) => [code, remaining]);
  };
  await ask(descriptor({ ip: "1" }));
  await ask(descriptor({ ip: "1" }));
  return { clock, store, ask };
}

const IP = descriptor({ ip: "1" });
const USER = descriptor({ user: "a" });

it("their limit_remaining is what is left of them, and nothing of it is charged", async () => {
  const { ask } = await makeLimiter();
  await ask(USER);
  for (let i = 0; i < 3; i++) {
    expect(await ask(USER, IP)).toEqual([
      [1, 9],
      [2, 0],
    ]);
  }
  await ask(descriptor({ trial: "a" }));
  expect(await ask(IP, descriptor({ trial: "a" }), descriptor({ user: "b" }), USER)).toEqual([
    [2, 0],
    [1, 0],
    [1, 10],
    [1, 9],
  ]);
});

it("a flood reaches the store once a second", async () => {
  const { ask, clock, store } = await makeLimiter();
  store.calls = 0;
  for (let i = 0; i < 100; i++) await ask(USER, IP);
  expect(store.calls).toBe(1);
  clock.advance(999);
  await ask(USER, IP);
  expect(store.calls).toBe(1);
  await ask(USER);
  clock.advance(1);
  // The refusal has ended too: the store is asked as a whole.
  expect(await ask(USER, IP)).toEqual([
    [1, 9],
    [2, 0],
  ]);
  expect(store.calls).toBe(2);
});

it("hits that were spent count, however often they come", async () => {
  const { ask } = await makeLimiter();
  const spent = descriptor({ user: "a" }, { hits: 4 });
  expect(await ask(spent, IP)).toEqual([
    [1, 10],
    [2, 0],
  ]);
  expect(await ask(spent, IP)).toEqual([
    [1, 6],
    [2, 0],
  ]);
  expect(await ask(spent, IP)).toEqual([
    [2, 2],
    [2, 0],
  ]);
  expect(await ask(descriptor({ user: "a" }, { hits: 0 }))).toEqual([[2, 0]]);
});

it("a store that does not answer leaves the refusal as it is", async () => {
  const { ask, store } = await makeLimiter();
  store.isGone = true;
  expect(await ask(USER, IP)).toEqual([
    [1, 0],
    [2, 0],
  ]);
});
