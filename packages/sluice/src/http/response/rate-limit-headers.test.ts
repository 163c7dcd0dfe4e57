import fc from "fast-check";
import { type InnerList, type Item, parseList } from "structured-headers";
import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf, requestOf, START_MS } from "../../../test/handler-stand.js";
import { MoodyStore } from "../../../test/resilient-stand.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { HttpOptions } from "../handler/http-options.js";

const costs = { costs: { four: () => 4 } };
const three = fixedWindow({ limit: 3, windowMs: 60_000 });

/** Items of a header as a parser of structured fields reads them: name and parameters. */
function itemsOf(text: string): [string, Record<string, unknown>][] {
  return parseList(text).map((item: Item | InnerList) => [
    item[0] as string,
    Object.fromEntries(item[1]),
  ]);
}

function fieldsOf(limit: Limit | readonly Limit[], http?: HttpOptions, rule: object = {}) {
  return byName(requestHandlerOf([{ id: "r", limit, ...rule }], http).handle().fields);
}

describe("RateLimit and RateLimit-Policy, draft-11", () => {
  it.each([
    ["a window", three, { q: 3, w: 60 }, { r: 2, t: 60 }],
    [
      "a window of one and a half seconds",
      fixedWindow({ limit: 3, windowMs: 1_500 }),
      { q: 3, w: 2 },
      { r: 2, t: 2 },
    ],
    [
      "a window below one second",
      fixedWindow({ limit: 3, windowMs: 999 }),
      { q: 3 },
      { r: 2, t: 1 },
    ],
    [
      "a sliding counter",
      slidingWindowCounter({ limit: 3, windowMs: 60_000 }),
      { q: 3, w: 60 },
      { r: 2, t: 60 },
    ],
    [
      "a sliding log",
      slidingWindowLog({ limit: 3, windowMs: 60_000 }),
      { q: 3, w: 60 },
      { r: 2, t: 60 },
    ],
    [
      "a token bucket, by the time in which it refills",
      tokenBucket({ capacity: 50, refillPerSecond: 10 }),
      { q: 50, w: 5 },
      { r: 49, t: 1 },
    ],
    [
      "a bucket that refills within a second",
      tokenBucket({ capacity: 5, refillPerSecond: 10 }),
      { q: 5 },
      { r: 4, t: 1 },
    ],
    [
      "a leaky bucket",
      leakyBucket({ ratePerSecond: 2, queueSize: 3 }),
      { q: 4, w: 2 },
      { r: 3, t: 1 },
    ],
    ["a day", quota({ limit: 9, period: "day" }), { q: 9, w: 86_400 }, { r: 8, t: 86_400 }],
    [
      "a month, by its longest",
      quota({ limit: 9, period: "month" }),
      { q: 9, w: 31 * 86_400 },
      { r: 8, t: 31 * 86_400 },
    ],
    [
      "permits, which come back at an unknown time",
      concurrency({ limit: 20, permitMs: 5_000 }),
      { q: 20, qu: "concurrent-requests" },
      { r: 19 },
    ],
  ])("describe %s", (_what, limit, policy, state) => {
    const fields = fieldsOf(limit);
    expect(itemsOf(fields["ratelimit-policy"])).toEqual([["r", policy]]);
    expect(itemsOf(fields.ratelimit)).toEqual([["r", state]]);
  });

  it("say that bytes are counted where a rule settles by them", () => {
    const fields = fieldsOf(three, {}, { settle: "bytes" });
    expect(itemsOf(fields["ratelimit-policy"])).toEqual([
      ["r", { q: 3, qu: "content-bytes", w: 60 }],
    ]);
  });

  it("list every limit under a name of its own, which no rule can have", () => {
    const day = quota({ limit: 1_000, period: "day" });
    const { handle } = requestHandlerOf([
      { id: "login", limit: [three, day] },
      { id: "all", key: "global", limit: day },
    ]);
    const fields = byName(handle().fields);
    expect(itemsOf(fields["ratelimit-policy"]).map(([name]) => name)).toEqual([
      "login",
      "login/2",
      "all",
    ]);
    expect(itemsOf(fields.ratelimit)).toEqual([
      ["login", { r: 2, t: 60 }],
      ["login/2", { r: 999, t: 86_400 }],
      ["all", { r: 999, t: 86_400 }],
    ]);
  });

  it("say nothing where no rule matches, or the only ones are shadows or hidden", () => {
    const away = { path: "/elsewhere" };
    for (const rule of [{ match: away }, { onExceed: "shadow" }, { expose: false }]) {
      expect(fieldsOf(three, {}, rule)).toEqual({});
    }
  });

  it("leave out a hidden rule beside others, also where it binds", () => {
    const tight = fixedWindow({ limit: 2, windowMs: 1_000 });
    const { handle } = requestHandlerOf([
      { id: "open", limit: three },
      { id: "hidden", limit: tight, expose: false },
    ]);
    const fields = byName(handle().fields);
    expect(JSON.stringify(fields)).not.toContain("hidden");
    expect(fields["x-ratelimit-limit"]).toBe("3");
    handle();
    const refused = handle();
    expect(byName(refused.refusal?.fields ?? [])["retry-after"]).toBe("1");
    expect(refused.refusal?.body).toContain('"violated-policies":[]');
    expect(JSON.stringify([refused.fields, refused.refusal?.body])).not.toContain("hidden");
  });

  it("say what a limit promises and not how it stands where the store was not asked", async () => {
    const store = new MoodyStore(memoryStore());
    store.mood = "failing";
    for (const onStoreFailure of ["open", "closed"] as const) {
      const { requestHandler } = requestHandlerOf(
        [{ id: "r", limit: three, onStoreFailure }],
        {},
        { store },
      );
      const fields = byName((await requestHandler.handle(requestOf())).fields);
      expect(Object.keys(fields)).toEqual(["ratelimit-policy"]);
    }
  });

  it("leave out how a limit stands that was not asked because another was known to refuse", async () => {
    const one = fixedWindow({ limit: 1, windowMs: 60_000 });
    const rules = [
      { id: "wide", limit: three },
      { id: "tight", limit: one },
    ];
    const { requestHandler } = requestHandlerOf(
      rules,
      {},
      { store: new MoodyStore(memoryStore()) },
    );
    for (let i = 0; i < 2; i++) await requestHandler.handle(requestOf());
    const { decision, fields } = await requestHandler.handle(requestOf());
    expect(decision.source).toBe("deny-cache");
    const named = byName(fields);
    expect(itemsOf(named["ratelimit-policy"]).map(([name]) => name)).toEqual(["wide", "tight"]);
    expect(itemsOf(named.ratelimit)).toEqual([["tight", { r: 0, t: 60 }]]);
    expect(named["x-ratelimit-limit"]).toBe("1");
  });

  it("carry a partition key that distinguishes counters and nothing else", () => {
    const secret = "a secret of the fleet";
    const { handle } = requestHandlerOf([{ id: "r", limit: three }], { partitionKey: { secret } });
    const pkOf = (peer: string) => {
      const fields = byName(handle({ peer }).fields);
      const [policy] = itemsOf(fields["ratelimit-policy"]);
      const [state] = itemsOf(fields.ratelimit);
      expect(policy[1].pk).toBeInstanceOf(ArrayBuffer);
      expect(policy[1].pk).toEqual(state[1].pk);
      return Buffer.from(policy[1].pk as ArrayBuffer).toString("base64");
    };
    expect(pkOf("203.0.113.1")).toBe(pkOf("203.0.113.1"));
    expect(pkOf("203.0.113.1")).not.toBe(pkOf("203.0.113.2"));
    expect(Buffer.from(pkOf("203.0.113.1"), "base64")).toHaveLength(12);
    const other = requestHandlerOf([{ id: "r", limit: three }], {
      partitionKey: { secret: "a secret of another" },
    });
    expect(other.handle({ peer: "203.0.113.1" }).fields.join()).not.toContain(pkOf("203.0.113.1"));
  });

  it("can be read by any client, whatever the numbers", () => {
    const limits = fc.oneof(
      fc
        .record({ capacity: whole(2 ** 51), refillPerSecond: fc.double({ min: 0.001, max: 1e6 }) })
        .map(attempt(tokenBucket)),
      fc
        .record({ limit: whole(2 ** 51), windowMs: whole(31_622_400_000) })
        .map(attempt(fixedWindow)),
      fc
        .record({ limit: whole(2 ** 51), permitMs: whole(31_622_400_000) })
        .map(attempt(concurrency)),
    );
    fc.assert(
      fc.property(
        limits,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(5),
        (limit, share, more) => {
          if (limit === undefined) return;
          const cost = Math.max(1, Math.floor(share * limit.capacity));
          const { handle, clock } = requestHandlerOf(
            [{ id: "r", limit, cost }],
            {},
            { store: memoryStore({ keysMax: 8 }) },
          );
          for (let i = 0; i < more; i++) {
            handle();
            clock.advance(7);
          }
          const { fields, refusal } = handle();
          const named = byName(fields);
          const [[, policy]] = itemsOf(named["ratelimit-policy"]);
          const [[, state]] = itemsOf(named.ratelimit);
          for (const value of [policy.q, policy.w ?? 1, state.r, state.t ?? 0]) {
            expect(Number.isInteger(value)).toBe(true);
            expect(value).toBeGreaterThanOrEqual(0);
            expect(value).toBeLessThanOrEqual(999_999_999_999_999);
          }
          const retryAfter = byName(refusal?.fields ?? [])["retry-after"];
          if (retryAfter !== undefined) expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("older forms", () => {
  const day = quota({ limit: 5_000, period: "day" });
  const none = { legacyHeaders: false } as const;

  it("draft-8 is written as draft-11 is", () => {
    expect(fieldsOf(three, { headers: "draft-8" })).toEqual(fieldsOf(three));
  });

  it("draft-7 shows the limit that binds, and promises all", () => {
    expect(fieldsOf([day, three], { headers: "draft-7", ...none })).toEqual({
      "ratelimit-policy": "5000;w=86400, 3;w=60",
      ratelimit: "limit=3, remaining=2, reset=60",
    });
  });

  it("draft-6 has a header for each number", () => {
    expect(fieldsOf([day, three], { headers: "draft-6", ...none })).toEqual({
      "ratelimit-policy": "5000;w=86400, 3;w=60",
      "ratelimit-limit": "3",
      "ratelimit-remaining": "2",
      "ratelimit-reset": "60",
    });
  });

  it("none leaves X-RateLimit alone, and both off leave nothing", () => {
    expect(Object.keys(fieldsOf(three, { headers: "none" }))).toEqual([
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
    ]);
    expect(fieldsOf(three, { headers: "none", ...none })).toEqual({});
  });

  it("X-RateLimit-Reset is a time in seconds, or how long it is until then", () => {
    const at = String(START_MS / 1000 + 60);
    expect(fieldsOf(three)["x-ratelimit-reset"]).toBe(at);
    expect(fieldsOf(three, { legacyHeaders: "epoch" })["x-ratelimit-reset"]).toBe(at);
    expect(fieldsOf(three, { legacyHeaders: "delta" })["x-ratelimit-reset"]).toBe("60");
  });

  it.each([
    ["a quota", quota({ limit: 3, period: "day", timeZone: "Etc/GMT-1" }), 23 * 3_600],
    ["a window", fixedWindow({ limit: 3, windowMs: 3_600_000 }), 3_600],
  ] as const)(
    "X-RateLimit-Reset of %s that ends on a whole second is that second",
    (_, limit, endSeconds) => {
      for (const lateMs of [0, 1, 500, 999]) {
        const { handle, clock } = requestHandlerOf([{ id: "r", limit }]);
        clock.advance(lateMs);
        const resets = Array.from(
          { length: 4 },
          () => byName(handle().fields)["x-ratelimit-reset"],
        );
        expect(resets).toEqual(Array(4).fill(String(START_MS / 1000 + endSeconds)));
      }
    },
  );

  it("X-RateLimit-Reset of a window is that second by a wall clock which differs by a moment", () => {
    const now = START_MS + 1;
    const clock = { now: () => now, wall: () => now + 1 };
    const { handle } = requestHandlerOf([{ id: "r", limit: three }], {}, { clock });
    expect(byName(handle().fields)["x-ratelimit-reset"]).toBe(String(START_MS / 1000 + 60));
  });
});

describe("the headers of a refusal", () => {
  const bucket = tokenBucket({ capacity: 1, refillPerSecond: 0.4 });

  it("agree on when to come back, which is then and not before", () => {
    const { handle, clock } = requestHandlerOf([{ id: "r", limit: bucket }]);
    handle();
    const { fields, refusal } = handle();
    const named = byName([...fields, ...(refusal?.fields ?? [])]);
    expect(named["retry-after"]).toBe("3");
    expect(itemsOf(named.ratelimit)).toEqual([["r", { r: 0, t: 3 }]]);
    expect(named["x-ratelimit-reset"]).toBe(String(START_MS / 1000 + 3));
    clock.advance(2_499);
    expect(handle().refusal).toBeDefined();
    clock.advance(1);
    expect(handle().refusal).toBeUndefined();
  });

  it("take the longest wait of all that refuse", () => {
    const slow = tokenBucket({ capacity: 1, refillPerSecond: 0.1 });
    const { handle } = requestHandlerOf([
      { id: "quick", limit: bucket },
      { id: "slow", limit: slow },
      { id: "least", limit: bucket },
    ]);
    handle();
    const { fields, refusal } = handle();
    expect(byName(fields)["x-ratelimit-reset"]).toBe(String(START_MS / 1000 + 10));
    expect(byName(refusal?.fields ?? [])["retry-after"]).toBe("10");
    expect(itemsOf(byName(fields).ratelimit)).toEqual([
      ["quick", { r: 0, t: 3 }],
      ["slow", { r: 0, t: 10 }],
      ["least", { r: 0, t: 3 }],
    ]);
    const violated = JSON.parse(refusal?.body ?? "")["violated-policies"];
    expect(violated).toEqual(["quick", "slow", "least"]);
  });

  it("are never earlier for jitter, later by at most so much, and still agree", () => {
    const retryAfterJitterMs = 10_000;
    const { handle } = requestHandlerOf([{ id: "r", limit: bucket }], { retryAfterJitterMs });
    handle();
    const seen = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const { fields, refusal } = handle();
      const named = byName([...fields, ...(refusal?.fields ?? [])]);
      const seconds = Number(named["retry-after"]);
      expect(seconds).toBeGreaterThanOrEqual(3);
      expect(seconds).toBeLessThanOrEqual(13);
      expect(itemsOf(named.ratelimit)[0][1].t).toBe(seconds);
      const { retryAfterMs } = JSON.parse(refusal?.body ?? "");
      expect(Math.ceil(retryAfterMs / 1000)).toBe(seconds);
      seen.add(seconds);
    }
    expect(seen.size).toBeGreaterThan(5);
  });

  it("don't say when where waiting does not help, and the body says so", () => {
    const { handle } = requestHandlerOf(
      [{ id: "r", limit: three, cost: { function: "four" } }],
      {},
      costs,
    );
    const { fields, refusal } = handle();
    const named = byName([...fields, ...(refusal?.fields ?? [])]);
    expect(named).not.toHaveProperty("retry-after");
    expect(named).not.toHaveProperty("x-ratelimit-reset");
    expect(itemsOf(named.ratelimit)).toEqual([["r", { r: 3 }]]);
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      retryAfterMs: null,
      detail: "The rate limit is exceeded, and waiting does not help.",
    });
  });
});

function whole(max: number) {
  return fc.integer({ min: 1, max: Math.min(max, Number.MAX_SAFE_INTEGER) });
}

/** Numbers that can't be counted exactly make no limit. */
function attempt<O, L extends Limit>(make: (options: O) => L): (options: O) => L | undefined {
  return (options) => {
    try {
      return make(options);
    } catch {
      return undefined;
    }
  };
}
