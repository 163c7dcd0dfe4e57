// Limiters that share a store in one process: a name stands for one set of numbers.

import { describe, expect, it } from "vitest";
import { rateLimit } from "../http/adapters/node/node.js";
import { toNamedPolicy } from "../http/handler/limits-in-code.js";
import { fixedWindow, type Limit, tokenBucket } from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";
import { resilient } from "../stores/resilient/resilient.js";
import { asAnotherProcess } from "../testing/another-process.js";
import { createLimiter } from "./limiter.js";

const five = fixedWindow({ limit: 5, windowMs: 3_600_000 });
const ten = fixedWindow({ limit: 10, windowMs: 3_600_000 });

describe("two limiters of one name over one store", () => {
  it.each<[string, Limit | Limit[]]>([
    ["other numbers", ten],
    ["another algorithm", tokenBucket({ capacity: 5, refillPerSecond: 1 })],
    ["one more limit", [five, ten]],
  ])("with %s are an error that says what to do", (_, limit) => {
    const store = memoryStore();
    createLimiter({ name: "login", limit: five, store });
    expect(() => createLimiter({ name: "login", limit, store })).toThrow(
      'createLimiter: the name "login" is in use over this store with other numbers, and the two would share ' +
        "their counters; give each a name of its own, or close() the first one",
    );
  });

  it("leave no name in use if one of several can't be had", () => {
    const store = memoryStore();
    const site = { name: "test", code: "SLUICE_OPTION_INVALID" } as const;
    const make = (search: Limit, login: Limit) =>
      toNamedPolicy(
        site,
        [
          { name: "search", limit: search },
          { name: "login", limit: login },
        ],
        { store },
      );
    createLimiter({ name: "login", limit: five, store });
    expect(() => make(five, ten)).toThrow('"login" is in use');
    expect(() => make(ten, five)).not.toThrow();
  });

  it("with the same numbers share their counters", () => {
    const store = memoryStore();
    const [one, other] = [five, [fixedWindow({ limit: 5, windowMs: 3_600_000 })]].map((limit) =>
      createLimiter({ name: "login", limit, store }),
    );
    one.check("k");
    expect(other.check("k").remaining).toBe(3);
  });

  it("with other numbers are possible in different processes, which take over what was used", () => {
    const store = memoryStore();
    createLimiter({ name: "login", limit: five, store }).check("k");
    const other = createLimiter({ name: "login", limit: ten, store: asAnotherProcess(store) });
    expect(other.check("k").remaining).toBe(8);
  });

  it("are an error where one of them is a rateLimit", async () => {
    const store = memoryStore();
    const middleware = rateLimit({ name: "login", limit: five, store });
    createLimiter({ name: "login", limit: five, store });
    expect(() => createLimiter({ name: "login", limit: ten, store })).toThrow("other numbers");
    await middleware.close();
  });
});

describe("two limiters without a name over one store", () => {
  it.each([
    ["the same numbers", five],
    ["other numbers", ten],
  ])("with %s are an error that says what to do", (_, limit) => {
    const store = resilient(memoryStore());
    createLimiter({ limit: five, store });
    expect(() => createLimiter({ limit, store })).toThrow(
      "createLimiter: another limiter without a name uses this store, and the two would share their counters; " +
        'give each a name, such as name: "login", or close() the first one',
    );
  });

  it("are fine if each has a store of its own", () => {
    createLimiter({ limit: five }).check("k");
    expect(createLimiter({ limit: ten }).check("k").remaining).toBe(9);
  });
});

describe("a limiter that was closed", () => {
  it("leaves its name to one with other numbers, which takes over what was used", () => {
    const store = memoryStore();
    const before = createLimiter({ name: "login", limit: five, store });
    before.check("k", { cost: 4 });
    before.close();
    const after = createLimiter({ name: "login", limit: ten, store });
    expect(after.check("k")).toMatchObject({ allowed: true, limit: 10, remaining: 5 });
  });

  it("leaves its place to another one without a name", () => {
    const store = memoryStore();
    createLimiter({ limit: five, store }).close();
    expect(createLimiter({ limit: ten, store }).check("k").remaining).toBe(9);
  });

  it("gives up its own claim only, however often it is closed", () => {
    const store = memoryStore();
    const [one, other] = [1, 2].map(() => createLimiter({ name: "login", limit: five, store }));
    one.close();
    one.close();
    expect(() => createLimiter({ name: "login", limit: ten, store })).toThrow("other numbers");
    other.close();
    createLimiter({ name: "login", limit: ten, store });
  });

  it("leaves nothing behind, however many names were used before", () => {
    const store = memoryStore();
    // More than are checked at a time.
    for (let i = 0; i < 12_000; i++) {
      createLimiter({ name: `tenant-${i}`, limit: five, store }).close();
    }
    createLimiter({ name: "login", limit: five, store });
    expect(() => createLimiter({ name: "login", limit: ten, store })).toThrow("other numbers");
  });

  it("claimed nothing if its options were invalid", () => {
    const store = memoryStore();
    const clock = { now: "noon" as unknown as () => number };
    expect(() => createLimiter({ limit: five, store, clock })).toThrow("clock");
    createLimiter({ limit: ten, store });
  });
});
