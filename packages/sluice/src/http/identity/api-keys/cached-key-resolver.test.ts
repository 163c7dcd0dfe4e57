import { memoryInUse } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type CachedKeyResolverOptions, cachedKeyResolver } from "./cached-key-resolver.js";
import type { ResolvedKey } from "./resolved-key.js";

/** A look-up that the test answers, and a resolver over it. */
function stand(options: Partial<CachedKeyResolverOptions> = {}) {
  const clock = new ManualClock(1_000_000);
  const asked: string[] = [];
  const known = new Map<string, ResolvedKey>([
    ["key-a", { id: "a", tenant: "acme" }],
    ["key-b", { id: "b", tenant: "beta" }],
  ]);
  const errors: unknown[] = [];
  const resolver = cachedKeyResolver({
    lookup: async (key) => {
      asked.push(key);
      return known.get(key);
    },
    clock,
    onError: (error) => void errors.push(error),
    ...options,
  });
  return { clock, asked, known, errors, resolver };
}

/** How many unknown keys come in a flood; `npm run soak` sends more. */
const UNKNOWN_KEYS = Number(process.env.SLUICE_UNKNOWN_KEYS ?? 100_000);

describe("a cached key resolver", () => {
  it("looks a key up once, for all that wait for it and all that come later", async () => {
    const { resolver, asked } = stand();
    const waiting = Array.from({ length: 100 }, () => resolver.resolve("key-a"));
    expect(new Set(await Promise.all(waiting)).size).toBe(1);
    expect(resolver.resolve("key-a")).toMatchObject({ id: "a", tenant: "acme" });
    expect(asked).toEqual(["key-a"]);
  });

  it("remembers for a while that a key is unknown, and then looks again", async () => {
    const { resolver, asked, known, clock } = stand({ negativeMs: 5_000 });
    expect(await resolver.resolve("key-c")).toBeUndefined();
    known.set("key-c", { id: "c" });
    clock.advance(4_999);
    expect(resolver.resolve("key-c")).toBeUndefined();
    clock.advance(1);
    expect(await resolver.resolve("key-c")).toMatchObject({ id: "c" });
    expect(asked).toEqual(["key-c", "key-c"]);
  });

  it("looks a key in use up again before its time, so that it never waits, and drops a revoked one", async () => {
    const { resolver, asked, known, clock } = stand({ cacheMs: 60_000 });
    await resolver.resolve("key-a");
    clock.advance(30_000);
    known.set("key-a", { id: "a", tenant: "moved" });
    expect(resolver.resolve("key-a")).toMatchObject({ tenant: "acme" });
    await Promise.resolve();
    await settled();
    expect(resolver.resolve("key-a")).toMatchObject({ tenant: "moved" });
    known.delete("key-a");
    clock.advance(60_000);
    expect(await resolver.resolve("key-a")).toBeUndefined();
    expect(asked).toHaveLength(3);
  });

  it("answers for known keys as long as look-ups fail, without waiting for each", async () => {
    let isAway = false;
    let asked = 0;
    const { resolver, clock, errors } = stand({
      cacheMs: 60_000,
      lookup: () => {
        asked++;
        return isAway ? Promise.reject(new Error("away")) : Promise.resolve({ id: "a" });
      },
    });
    await resolver.resolve("key-a");
    isAway = true;
    clock.advance(86_400_000);
    expect(await resolver.resolve("key-a")).toMatchObject({ id: "a" });
    expect(resolver.resolve("key-a")).toMatchObject({ id: "a" });
    expect(asked).toBe(2);
    expect(await resolver.resolve("key-b")).toBe("unchecked");
    clock.advance(1_000);
    isAway = false;
    expect(await resolver.resolve("key-a")).toMatchObject({ id: "a" });
    expect(errors).toEqual([new Error("away"), new Error("away")]);
  });

  it.each<[string, CachedKeyResolverOptions["lookup"]]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["answers a number", () => 42 as never],
    ["answers a list", () => [] as never],
    ["answers an object without an id", () => Promise.resolve({} as never)],
    ["answers an id that is a number", () => ({ id: 7 }) as never],
    ["answers a tenant that is an object", () => ({ id: "a", tenant: {} }) as never],
    ["answers attributes that are objects", () => ({ id: "a", attributes: { x: {} } }) as never],
    ["answers scopes that are a string", () => ({ id: "a", scopes: "read" }) as never],
  ])("does as onUnavailable says if the look-up %s", async (_, lookup) => {
    const refusing = stand({ lookup });
    expect(await refusing.resolver.resolve("key-a")).toBe("unchecked");
    expect(refusing.errors).toHaveLength(1);
    const lenient = stand({ lookup, onUnavailable: "anonymous" });
    expect(await lenient.resolver.resolve("key-a")).toBe("anonymous");
  });

  it("gives a look-up that hangs up after its time, and asks again for the next request", async () => {
    let asked = 0;
    const lookup = () => {
      asked++;
      return new Promise<never>(() => {});
    };
    const { resolver, clock } = stand({ lookup, timeoutMs: 500 });
    const first = resolver.resolve("key-a");
    const second = resolver.resolve("key-a");
    clock.advance(500);
    expect(await Promise.all([first, second])).toEqual(["unchecked", "unchecked"]);
    void resolver.resolve("key-a");
    expect(asked).toBe(2);
  });

  it("takes a null of a database for unknown, and empty columns for not known", async () => {
    const { resolver } = stand({
      lookup: async (key) => (key === "none" ? null : ({ id: "a", tenant: null } as never)),
    });
    expect(await resolver.resolve("none")).toBeUndefined();
    expect(await resolver.resolve("key-a")).toMatchObject({ id: "a", tenant: undefined });
  });

  it("forgets one key or all, and does not keep an answer that was asked for before", async () => {
    const { resolver, asked } = stand();
    await resolver.resolve("key-a");
    await resolver.resolve("key-b");
    resolver.invalidate("a");
    expect(resolver.resolve("key-b")).toMatchObject({ id: "b" });
    const late = resolver.resolve("key-a");
    resolver.invalidate();
    expect(await late).toMatchObject({ id: "a" });
    void resolver.resolve("key-a");
    expect(asked).toEqual(["key-a", "key-b", "key-a", "key-a"]);
  });

  it.each([
    ["__proto__"],
    ["constructor"],
    ["\0"],
    ["\ud800"],
    ["ключ 🔑"],
    ["'; DROP TABLE keys; --"],
    ["k".repeat(16_384)],
  ])("knows no key %j that was not found, and passes it on as it is", async (key) => {
    const { resolver, asked } = stand();
    expect(await resolver.resolve(key)).toBeUndefined();
    expect(resolver.resolve(key)).toBeUndefined();
    expect(asked).toEqual([key]);
  });

  it("gives each of its keys its own answer, also where an attribute is called __proto__", async () => {
    const attributes = JSON.parse('{"__proto__":"x","a":1}');
    const { resolver } = stand({ lookup: async (key) => ({ id: key, attributes }) });
    const found = (await resolver.resolve("k")) as ResolvedKey;
    expect(Object.entries(found.attributes ?? {})).toEqual([
      ["__proto__", "x"],
      ["a", 1],
    ]);
  });

  it("asks for no more than its rate in a flood of unknown keys, in bounded memory", async () => {
    const { resolver, asked, clock } = stand({ lookupsPerSecond: 50, keysMax: 1_000 });
    await resolver.resolve("key-a");
    const seconds = 10;
    let unchecked = 0;
    const beforeBytes = memoryInUse();
    for (let second = 0; second < seconds; second++) {
      for (let i = 0; i < UNKNOWN_KEYS / seconds; i++) {
        const answer = resolver.resolve(`flood-${second}-${i}`);
        if (answer === "unchecked") unchecked++;
      }
      await settled();
      clock.advance(1_000);
    }
    // A full bucket at the start, and what refills; each key was asked for once.
    expect(asked.length).toBeLessThanOrEqual(50 * (seconds + 1) + 1);
    expect(unchecked).toBe(UNKNOWN_KEYS - (asked.length - 1));
    expect(memoryInUse() - beforeBytes).toBeLessThan(2_000_000);
    expect(resolver.resolve("key-a")).toMatchObject({ id: "a" });
  }, 60_000);

  it.each<[object, RegExp]>([
    [{}, /lookup is missing; it must be a function/],
    [{ lookup: () => undefined, keyMax: 1 }, /unknown option "keyMax", did you mean keysMax/],
    [{ lookup: () => undefined, keysMax: 0 }, /keysMax must be a whole number/],
    [{ lookup: () => undefined, onUnavailable: "allow" }, /onUnavailable must be one of/],
  ])("refuses options %j", (options, message) => {
    expect(() => cachedKeyResolver(options as CachedKeyResolverOptions)).toThrow(message);
  });
});

/** Lets promises that are settled run what waits for them. */
async function settled(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
