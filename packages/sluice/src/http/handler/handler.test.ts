import { describe, expect, it } from "vitest";
import {
  byName,
  now,
  requestHandlerOf,
  requestOf,
  SITE,
  START_MS,
} from "../../../test/handler-stand.js";
import { MoodyStore } from "../../../test/resilient-stand.js";
import { concurrency, fixedWindow, tokenBucket } from "../../limits/limits.js";
import { parseRules } from "../../rules/parse/parse.js";
import { ForwardingStore } from "../../stores/forwarding-store.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { HttpRequest } from "../identity/http-request.js";
import { toRequestHandler } from "./create-handler.js";
import type { HandledRequest } from "./handled-request.js";
import type { RequestHandler } from "./handler.js";
import type { RateLimitOptions } from "./http-options.js";

const one = fixedWindow({ limit: 1, windowMs: 60_000 });
const three = fixedWindow({ limit: 3, windowMs: 60_000 });

function simple(options: Partial<RateLimitOptions>) {
  const clock = new ManualClock(START_MS);
  return toRequestHandler(SITE, { limit: one, clock, ...options });
}

describe("a request handler", () => {
  it("answers synchronously over memory, and finds out who the caller is only if a rule asks", () => {
    let asked = 0;
    const user = () => {
      asked += 1;
      return "ann";
    };
    const { handle } = requestHandlerOf(
      [
        { id: "by-ip", limit: three },
        { id: "by-user", match: { path: "/mine" }, key: "user", limit: one },
      ],
      { identity: { user } },
    );
    expect(handle().refusal).toBeUndefined();
    expect(asked).toBe(0);
    expect(handle({ target: "/mine" }).refusal).toBeUndefined();
    expect(handle({ target: "/mine" }).decision.rule).toBe("by-user");
    expect(asked).toBe(2);
    handle();
    expect(handle({ target: "/mine" }).decision.rule).toBe("by-ip");
    expect(asked).toBe(2);
  });

  it("with limits in code takes other rules as an object or parsed, and says how to pass a string", () => {
    const { policy } = simple({ limit: one });
    const rules = { version: 1, rules: [{ id: "r", limit: "5/minute" }] };
    policy.replace(rules);
    expect(policy.ruleOf("r")).toBeDefined();
    policy.replace(parseRules(JSON.stringify({ version: 1, rules: [] })));
    expect(policy.rules.rules).toEqual([]);
    expect(() => policy.replace(JSON.stringify(rules))).toThrow(
      "rules must not be a string here; parse it first: policy.replace(parseRules(text))",
    );
  });

  it("never lets a refusal of its own count for a request handler around it", () => {
    const outer = requestHandlerOf([{ id: "failures", when: { statusNot: [200] }, limit: one }]);
    const inner = requestHandlerOf([{ id: "tight", limit: one }]);
    inner.handle();
    const attempt = (status: number) => {
      const raw = {};
      const around = outer.handle({ raw });
      if (around.refusal !== undefined) return "outer";
      const within = inner.handle({ raw });
      around.finish({ status: within.refusal?.status ?? status });
      return within.refusal === undefined ? "passed" : "inner";
    };
    expect([attempt(200), attempt(200), attempt(200)]).toEqual(["inner", "inner", "inner"]);
    inner.clock.advance(60_000);
    expect([attempt(401), attempt(200)]).toEqual(["passed", "outer"]);
  });

  it("calls onRefused for each refusal with the request, and for nothing else", () => {
    const refusals: [Partial<HandledRequest>, unknown][] = [];
    const { handle } = requestHandlerOf([{ id: "r", limit: one }], {
      onRefused: ({ limit, remaining }, request) =>
        void refusals.push([{ limit, remaining }, request]),
    });
    const raw = { name: "the second" };
    handle();
    handle({ raw });
    expect(refusals).toEqual([[{ limit: 1, remaining: 0 }, raw]]);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("refuses as ever where onRefused %s, and onError hears of it", async (_how, onRefused) => {
    const errors: unknown[] = [];
    const { handle } = requestHandlerOf([{ id: "r", limit: one }], {
      onRefused: onRefused as () => void,
      onError: (error) => {
        errors.push(error);
        throw new Error("not reported");
      },
    });
    handle();
    expect(handle().refusal?.status).toBe(429);
    await expect.poll(() => errors).toMatchObject([{ message: "broken" }]);
  });

  it("hands on the id that makes a request count once", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: three, settle: "code" }], {
      requestId: (raw) => (raw as { id?: string }).id,
    });
    const left = (raw: object) => handle({ raw }).remaining;
    expect([left({ id: "a" }), left({ id: "a" }), left({ id: "b" }), left({})]).toEqual([
      2, 2, 1, 0,
    ]);
  });

  it.each([
    ["a promise", () => Promise.resolve("id")],
    ["a promise that fails", () => Promise.reject(new Error("late"))],
    ["an empty text", () => ""],
    ["a number", () => 7],
    ["null", () => null],
  ])("refuses to count by an id that is %s", (_what, requestId) => {
    const { handle } = requestHandlerOf([{ id: "r", limit: one }], {
      requestId: requestId as () => string,
    });
    expect(handle).toThrow("requestId must return a string or undefined, not a promise");
  });

  it("lets the error of a store through where the rule says so", async () => {
    const store = new MoodyStore(memoryStore());
    store.mood = "failing";
    const { requestHandler } = requestHandlerOf(
      [{ id: "r", limit: one, onStoreFailure: "throw" }],
      {},
      { store },
    );
    await expect(async () => requestHandler.handle(requestOf())).rejects.toMatchObject({
      code: "SLUICE_STORE_UNAVAILABLE",
      status: 503,
    });
  });

  it("refunds everything for a request that there is no room to delay", () => {
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 1 });
    const slow = { id: "slow", limit, onExceed: "delay", delayMsMax: 5_000 };
    const busy = { id: "busy", limit: concurrency({ limit: 3, permitMs: 60_000 }) };
    const { handle, clock } = requestHandlerOf([slow, busy], { delayedMax: 1 });
    expect(handle().delayMs).toBe(0);
    const waiting = handle();
    expect(waiting.delayMs).toBe(1_000);
    for (let i = 0; i < 3; i++) {
      const { refusal, fields } = handle();
      expect(refusal).toMatchObject({ status: 429, retryAfterMs: 2_000 });
      const { ratelimit, ...named } = byName([...fields, ...(refusal?.fields ?? [])]);
      expect(ratelimit).toMatch(/^"slow";r=0;t=2, /);
      expect([named["retry-after"], named["x-ratelimit-limit"]]).toEqual(["2", "1"]);
      expect(JSON.parse(refusal?.body ?? "")["violated-policies"]).toEqual(["slow"]);
    }
    // A request that gives up leaves its room, and no other gets its tokens.
    waiting.finish({});
    expect(handle().delayMs).toBe(2_000);
    clock.advance(2_000);
    expect(handle().delayMs).toBe(1_000);
  });
});

describe("a refusal because no permit is free", () => {
  const limit = concurrency({ limit: 1, permitMs: 3_600_000 });
  const headersOf = ({ fields, refusal }: HandledRequest) =>
    byName([...fields, ...(refusal?.fields ?? [])]);

  it("names no time until a permit is released, and never when one expires", () => {
    const { handle } = requestHandlerOf([{ id: "busy", limit }]);
    expect(headersOf(handle())["x-ratelimit-reset"]).toBeUndefined();
    const refused = handle();
    const fields = headersOf(refused);
    expect(fields.ratelimit).toBe('"busy";r=0');
    expect([fields["retry-after"], fields["x-ratelimit-reset"]]).toEqual([undefined, undefined]);
    expect(JSON.parse(refused.refusal?.body ?? "")).toMatchObject({
      status: 429,
      detail: "The rate limit is exceeded. Try again when a request has ended.",
      retryAfterMs: null,
    });
  });

  it("names the time for which permits of the rule were recently held", () => {
    const { handle, clock } = requestHandlerOf([{ id: "busy", limit }]);
    for (let i = 0; i < 20; i++) {
      const handled = handle();
      clock.advance(4_300);
      handled.finish({ status: 200 });
    }
    handle();
    const refused = handle();
    const fields = headersOf(refused);
    expect([fields["retry-after"], fields.ratelimit]).toEqual(["5", '"busy";r=0;t=5']);
    expect(refused.refusal?.retryAfterMs).toBe(4_300);
    expect(refused.decision.retryAfterMs).toBe(3_600_000);
  });

  it("says at least a second, and no less than a rate limit that refuses too", () => {
    const rate = fixedWindow({ limit: 2, windowMs: 60_000 });
    const { handle, clock } = requestHandlerOf([
      { id: "busy", limit },
      { id: "rate", limit: rate },
    ]);
    const first = handle();
    clock.advance(300);
    first.finish({ status: 200 });
    handle();
    expect(headersOf(handle())["retry-after"]).toBe("60");
    const { handle: again, clock: time } = requestHandlerOf([{ id: "busy", limit }]);
    const short = again();
    time.advance(300);
    short.finish({ status: 200 });
    again();
    expect(headersOf(again())["retry-after"]).toBe("1");
  });
});

describe("a handled request", () => {
  it("is the info that handlers know from elsewhere", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: three }]);
    handle();
    const info = handle();
    expect(info).toMatchObject({ limit: 3, used: 2, remaining: 1 });
    expect(info.resetTime).toEqual(new Date(START_MS + 60_000));
    const none = requestHandlerOf([{ id: "r", match: { path: "/x" }, limit: one }]).handle();
    expect([none.limit, none.used]).toEqual([Number.POSITIVE_INFINITY, 0]);
    expect(none.isHeld).toBe(false);
  });

  it("charges what the handler said last, and refuses what is no cost", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: three, settle: "code" }]);
    const handled = handle();
    expect(() => handled.settle(-1)).toThrow("cost must be a whole number");
    handled.settle(1);
    handled.settle(2);
    handled.finish({ status: 200 });
    handled.finish({ status: 200, cost: 0 });
    expect(handle().remaining).toBe(0);
  });

  it("says whether it has to be finished, and whether by the bytes or the body of the response", () => {
    const held = (rule: object) => {
      const handled = requestHandlerOf([{ id: "r", limit: three, ...rule }]).handle();
      return [handled.isHeld, handled.needsBytes, handled.needsBody];
    };
    expect(held({})).toEqual([false, false, false]);
    expect(held({ when: { status: [401] } })).toEqual([true, false, false]);
    expect(held({ settle: "bytes" })).toEqual([true, true, false]);
    expect(held({ settle: { json: "units" } })).toEqual([true, false, true]);
  });

  it("reads the body for all rules that settle by it, and settles each by its own numbers", () => {
    const rules = [
      { id: "a", limit: fixedWindow({ limit: 100, windowMs: 60_000 }), settle: { json: "a.b" } },
      { id: "c", limit: fixedWindow({ limit: 200, windowMs: 60_000 }), settle: { json: "c" } },
    ];
    const { handle } = requestHandlerOf(rules);
    const handled = handle();
    const headers = { contentType: "application/json", contentEncoding: undefined };
    const body = handled.toBodyMeter(headers);
    body?.read(new TextEncoder().encode('{"a":{"b":30},"c":50}'));
    body?.end();
    handled.finish({ status: 200, body });
    const left = handle().decision.results.map(({ verdict }) => verdict.remaining);
    expect(left).toEqual([69, 149]);
    expect(
      requestHandlerOf([{ id: "r", limit: three }])
        .handle()
        .toBodyMeter(headers),
    ).toBe(undefined);
  });
});

describe("the simple case", () => {
  it("is a rule called default that counts by address", () => {
    const requestHandler = simple({});
    const handle = (peer: string) => now(requestHandler.handle(requestOf({ peer })));
    expect(handle("203.0.113.1").decision).toMatchObject({ allowed: true, rule: "default" });
    expect(handle("203.0.113.1").decision).toMatchObject({ allowed: false, rule: "default" });
    expect(handle("203.0.113.2").decision.allowed).toBe(true);
  });

  it("counts by dimensions, under a name, with several limits", () => {
    const requestHandler = simple({ key: ["header:x-a", "ip"], name: "mine", limit: [three, one] });
    const handle = (a: string) => now(requestHandler.handle(requestOf({ headers: { "x-a": a } })));
    expect(byName(handle("1").fields).ratelimit).toBe('"mine";r=2;t=60, "mine/2";r=0;t=60');
    expect([handle("1").decision.allowed, handle("2").decision.allowed]).toEqual([false, true]);
  });

  it("takes a cost, or a function that finds it", async () => {
    expect(now(simple({ limit: three, cost: 2 }).handle(requestOf())).remaining).toBe(1);
    const requestHandler = simple({ limit: three, cost: (raw) => (raw as { cost: number }).cost });
    expect(now(requestHandler.handle(requestOf({ raw: { cost: 2 } }))).remaining).toBe(1);
    const later = simple({ limit: three, cost: async () => 3 });
    expect((await later.handle(requestOf())).remaining).toBe(0);
    expect(() => requestHandler.handle(requestOf({ raw: { cost: -1 } }))).toThrow(
      "cost must be a whole number",
    );
  });

  it("asks for key and cost only if the request is not skipped", () => {
    let asked = 0;
    const ask = () => {
      asked += 1;
      return "a";
    };
    const requestHandler = simple({ skip: () => true, key: ask });
    const handled = now(requestHandler.handle(requestOf()));
    expect([handled.fields, handled.refusal, handled.isHeld, asked]).toEqual([
      [],
      undefined,
      false,
      0,
    ]);
  });

  it.each([[""], [7], [null]])("refuses a key function that answers %j", (key) => {
    const requestHandler = simple({ key: () => key as string });
    expect(() => requestHandler.handle(requestOf())).toThrow(/the key function answered/);
  });

  it("keeps a key from a function apart from facts of other kinds", () => {
    const requestHandler = simple({ key: (raw) => (raw as { key: string }).key });
    const handle = (key: string) =>
      now(requestHandler.handle(requestOf({ raw: { key } }))).decision.allowed;
    expect([
      handle("a|b"),
      handle("a%7Cb"),
      handle("ip:203.0.113.10"),
      handle("__proto__"),
    ]).toEqual([true, true, true, true]);
    expect(handle("a|b")).toBe(false);
  });

  it("closes the policy that it made, and leaves one that was given", async () => {
    const requestHandler = simple({});
    await requestHandler.close();
    expect(() => requestHandler.handle(requestOf())).toThrow("closed");
    const given = requestHandlerOf([{ id: "r", limit: one }]);
    await given.requestHandler.close();
    expect(given.handle().refusal).toBeUndefined();
  });
});

describe("the simple case over a store that others use", () => {
  it.each(["throws", "rejects"])("calls onError when settling fails, which %s", async (how) => {
    class Failing extends ForwardingStore {
      override settle(): never {
        throw new Error("gone");
      }
    }
    const store = new Failing(memoryStore());
    const errors: unknown[] = [];
    const onError = (error: unknown) => {
      errors.push(error);
      if (how === "throws") throw new Error("not reported");
      return Promise.reject(new Error("nor this"));
    };
    const requestHandler = simple({
      store,
      settle: "code",
      onError: onError as unknown as () => void,
    });
    const handled = await requestHandler.handle(requestOf());
    await handled.finish({ status: 200 });
    expect(errors).toMatchObject([{ message: "gone" }]);
  });

  it("refuses a name that has other numbers there, until that request handler is closed", async () => {
    const store = memoryStore();
    const first = simple({ store, limit: one });
    expect(() => simple({ store, limit: three })).toThrow(
      'rateLimit: the name "default" is in use over this store with other numbers',
    );
    expect(() => simple({ store, limit: [one, three] })).toThrow("give each a name of its own");
    simple({ store, limit: three, name: "other" });
    simple({ store: memoryStore(), limit: three });
    const second = simple({ store, limit: fixedWindow({ limit: 1, windowMs: 60_000 }) });
    await first.close();
    await first.close();
    expect(() => simple({ store, limit: three })).toThrow("other numbers");
    await second.close();
    simple({ store, limit: three });
  });
});

describe("GET /rate_limit", () => {
  it("shows the caller's state under every exposed rule, charges nothing and is kept by no cache", () => {
    const { requestHandler, handle } = requestHandlerOf([
      { id: "a", limit: three },
      { id: "b", match: { path: "/other" }, key: "global", limit: one },
      { id: "hidden", limit: one, key: "header:x-id", expose: false },
    ]);
    handle();
    const ask = () => now(requestHandler.status(requestOf({ target: "/rate_limit" })));
    const { status, fields, body } = ask();
    expect(status).toBe(200);
    expect(byName(fields)).toEqual({
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
      "content-length": String(body.length),
    });
    expect(JSON.parse(body)).toMatchObject({
      rules: [
        { rule: "a", keyType: "ip", limit: 3, remaining: 2, resetMs: 60_000, retryAfterMs: 0 },
        { rule: "b", keyType: "global", limit: 1, remaining: 1, resetMs: 0 },
      ],
    });
    expect(ask()).toEqual(ask());
    expect(body).not.toContain("203.0.113.10");
  });

  it("has a limit for each caller: a burst of 20, then five a second", () => {
    const { requestHandler, clock } = requestHandlerOf([{ id: "a", limit: three }]);
    const ask = (peer: string | undefined) =>
      now(requestHandler.status(requestOf({ peer }))).status;
    for (let i = 0; i < 20; i++) expect(ask("203.0.113.10")).toBe(200);
    const refused = now(requestHandler.status(requestOf({ peer: "203.0.113.10" })));
    expect(refused.status).toBe(429);
    expect(byName(refused.fields)).toMatchObject({
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      "retry-after": "1",
    });
    expect(JSON.parse(refused.body)).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
    expect(ask("203.0.113.11")).toBe(200);
    clock.advance(200);
    expect([ask("203.0.113.10"), ask("203.0.113.10")]).toEqual([200, 429]);
  });

  it("counts callers of one IPv6 network together, and by name where there is no address", () => {
    const network = requestHandlerOf([{ id: "a", limit: three }]).requestHandler;
    const statusOf = (requestHandler: RequestHandler, request: Partial<HttpRequest>) =>
      now(requestHandler.status(requestOf(request))).status;
    for (let i = 0; i < 20; i++) statusOf(network, { peer: `2001:db8::${i}` });
    expect(statusOf(network, { peer: "2001:db8::ffff" })).toBe(429);
    expect(statusOf(network, { peer: "2001:db8:0:1::1" })).toBe(200);
    const identity = { apiKey: { header: "x-api-key" } };
    const rule = { id: "keys", key: "apiKey", onMissing: "skip", limit: three };
    const named = requestHandlerOf([rule], { identity }).requestHandler;
    const by = (key: string) => ({ peer: undefined, headers: { "x-api-key": key } });
    for (let i = 0; i < 20; i++) statusOf(named, by("one"));
    expect([statusOf(named, by("one")), statusOf(named, by("two"))]).toEqual([429, 200]);
    const keyed = simple({ key: (request) => (request as { id: string }).id });
    const raw = (id: string) => ({ peer: undefined, raw: { id } });
    for (let i = 0; i < 20; i++) statusOf(keyed, raw("a"));
    expect([statusOf(keyed, raw("a")), statusOf(keyed, raw("b"))]).toEqual([429, 200]);
  });

  it("says nothing about a request that is skipped", () => {
    expect(now(simple({ skip: () => true }).status(requestOf())).body).toBe('{"rules":[]}');
    const requestHandler = simple({ key: () => "a" });
    requestHandler.handle(requestOf());
    expect(now(requestHandler.status(requestOf())).body).toContain('"remaining":0');
  });
});
