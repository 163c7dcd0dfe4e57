import { describe, expect, it } from "vitest";
import { createLimiter } from "../limiter/limiter.js";
import { tokenBucket } from "../limits/limits.js";
import { ManualClock } from "../testing/manual-clock.js";
import { denyCache } from "./deny-cache/deny-cache.js";
import { eventual } from "./eventual/eventual.js";
import { ForwardingStore } from "./forwarding-store.js";
import { guardedFor, toGuarded } from "./guarded.js";
import { hotKeys } from "./hot-keys/hot-keys.js";
import { leased } from "./leased/leased.js";
import { memoryStore } from "./memory/memory-store.js";
import { prelimit } from "./prelimit/prelimit.js";
import { resilient } from "./resilient/resilient.js";
import { sharded } from "./sharded/sharded.js";
import type { Store } from "./store.js";

const limit = tokenBucket({ capacity: 1_000_000, refillPerSecond: 1_000_000 });
const decorators: Readonly<Record<string, (store: Store, clock: ManualClock) => Store>> = {
  denyCache: (store, clock) => denyCache(store, { clock }),
  eventual: (store, clock) => eventual(store, { clock }),
  hotKeys: (store, clock) => hotKeys(store, { clock }),
  leased: (store, clock) => leased(store, { clock }),
  prelimit: (store, clock) => prelimit(store, { limit, clock }),
  sharded: (store) => sharded(store, { shards: 2 }),
};

/** A store behind a network: it answers a turn later, or not at all. */
class RemoteStore extends ForwardingStore {
  isGone = false;
  calls = 0;

  override get isRemote(): boolean {
    return true;
  }

  override decide(...args: Parameters<Store["decide"]>) {
    this.calls++;
    if (this.isGone) return Promise.reject(new Error("gone"));
    return Promise.resolve().then(() => super.decide(...args));
  }
}

describe("a decorator around a store behind a network", () => {
  it.each(Object.entries(decorators))("%s guards it, and is asked as it is", (_, decorate) => {
    const store = decorate(new RemoteStore(memoryStore()), new ManualClock(0));
    expect(store.isRemote ?? false).toBe(false);
  });

  it.each(Object.entries(decorators))(
    "%s answers by the policy of the limit when it is gone",
    async (_, decorate) => {
      const remote = new RemoteStore(memoryStore());
      const clock = new ManualClock(0);
      remote.isGone = true;
      const store = decorate(remote, clock);
      for (const [onStoreFailure, allowed] of [
        ["open", true],
        ["closed", false],
      ] as const) {
        const limiter = createLimiter({
          name: onStoreFailure,
          limit,
          store,
          clock,
          onStoreFailure,
        });
        const { allowed: seen, source } = await limiter.check("key");
        // An eventual store decides by itself, and a policy has nothing to say.
        if (source !== "memory")
          expect({ seen, source }).toEqual({ seen: allowed, source: "fallback" });
        else expect(store.constructor.name).toBe("EventualStore");
      }
    },
  );

  it("leases through a limiter, and answers in the same turn", async () => {
    const remote = new RemoteStore(memoryStore());
    const clock = new ManualClock(0);
    const limiter = createLimiter({ limit, store: leased(remote, { clock }), clock });
    let atOnce = 0;
    for (let turn = 0; turn < 100; turn++) {
      for (let i = 0; i < 100; i++) {
        const decision = limiter.check("key");
        if (!(decision instanceof Promise) && decision.source === "lease") atOnce++;
        else await decision;
      }
      clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(atOnce).toBeGreaterThan(9_800);
    expect(remote.calls).toBeLessThan(60);
  });
});

describe("the guard of a store", () => {
  it("is shared by all who use the store with the same clock", () => {
    const store = new RemoteStore(memoryStore());
    const clock = new ManualClock(0);
    expect(guardedFor(store, { clock })).toBe(toGuarded(store, { clock, timeoutMs: 7 }));
    expect(guardedFor(store, { clock })).not.toBe(toGuarded(store, { clock: new ManualClock(0) }));
  });

  it("can't stand around a decorator that has one inside, where it would see nothing", () => {
    const clock = new ManualClock(0);
    for (const decorate of Object.values(decorators)) {
      const store = decorate(new RemoteStore(memoryStore()), clock);
      expect(() => resilient(store)).toThrow(/guarded already.*leased\(resilient\(store/);
      expect(() => resilient(decorate(memoryStore(), clock))).not.toThrow();
    }
    expect(() => resilient(resilient(memoryStore()))).toThrow(/guarded already/);
  });

  it("is not put around a store in this process, nor twice around one", () => {
    const memory = memoryStore();
    expect(guardedFor(memory, undefined)).toBe(memory);
    const guarded = guardedFor(new RemoteStore(memory), undefined);
    expect(guardedFor(guarded, undefined)).toBe(guarded);
  });
});
