import { describe, expect, it } from "vitest";
import { requestHandlerOf, requestOf, START_MS } from "../../../test/handler-stand.js";
import { RemoteStore } from "../../../test/remote-store.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  slidingWindowCounter,
  tokenBucket,
} from "../../limits/limits.js";
import { parseRules } from "../../rules/parse/parse.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { HandledRequest } from "./handled-request.js";
import type { HttpOptions } from "./http-options.js";

const three = fixedWindow({ limit: 3, windowMs: 60_000 });
const LIMITS: [string, Limit][] = [
  ["a bucket", tokenBucket({ capacity: 3, refillPerSecond: 2 })],
  ["a window", three],
  ["a sliding window", slidingWindowCounter({ limit: 3, windowMs: 10_000 })],
];
const HTTP: [string, HttpOptions][] = [
  ["all headers", {}],
  ["draft-7", { headers: "draft-7", legacyHeaders: "delta" }],
  ["draft-6", { headers: "draft-6", legacyHeaders: false }],
  ["no headers of a draft", { headers: "none" }],
  ["a partition key", { partitionKey: { secret: "sixteen characters" } }],
];
const PEERS = [
  "",
  "203.0.113.10",
  "::ffff:203.0.113.10",
  "2001:db8:1:2::7",
  "2001:db8:1:2::8",
  "x",
];

/** A policy that reports its decisions has to know all facts, and so goes the long way. */
const LONG = { onDecision: () => {} };

function seen({
  lines,
  refusal,
  isHeld,
  limit,
  used,
  remaining,
  resetTime,
  decision,
}: HandledRequest) {
  const { results } = decision;
  return {
    lines,
    refusal,
    isHeld,
    limit,
    used,
    remaining,
    resetTime,
    ...decision.toJSON(),
    results,
  };
}

describe("the fast path of one rule by address", () => {
  it.each(
    LIMITS.flatMap(([name, limit]) =>
      HTTP.map(([form, http]) => [name, form, limit, http] as const),
    ),
  )("answers as the long one does: %s, %s", (_name, _form, limit, http) => {
    const short = requestHandlerOf([{ id: "r", limit }], http);
    const long = requestHandlerOf([{ id: "r", limit }], http, LONG);
    expect(short.requestHandler.policy.singleRulePath).toBeDefined();
    expect(long.requestHandler.policy.singleRulePath).toBeUndefined();
    for (let i = 0; i < 60; i++) {
      const peer = PEERS[(i * 7) % PEERS.length];
      expect(seen(short.handle({ peer }))).toEqual(seen(long.handle({ peer })));
      short.clock.advance(130 * (i % 5));
      long.clock.advance(130 * (i % 5));
    }
  });

  it.each([
    ["strict", "local"],
    ["strict", "open"],
    ["strict", "closed"],
    ["leased", "open"],
    ["eventual", "local"],
    ["local", "local"],
  ] as const)(
    "answers as the long one does over a shared store, also while that fails: %s, %s",
    async (consistency, onStoreFailure) => {
      const rules = [{ id: "r", limit: three, consistency, onStoreFailure }];
      const [shortStore, longStore] = [new RemoteStore(), new RemoteStore()];
      const short = requestHandlerOf(rules, {}, { store: shortStore });
      const long = requestHandlerOf(rules, {}, { store: longStore, ...LONG });
      expect(short.requestHandler.policy.singleRulePath).toBeDefined();
      for (let i = 0; i < 120; i++) {
        if (i === 60) for (const store of [shortStore, longStore]) store.failing.add("decide");
        const request = requestOf({ peer: PEERS[(i * 7) % PEERS.length] });
        expect(seen(await short.requestHandler.handle(request))).toEqual(
          seen(await long.requestHandler.handle(request)),
        );
        short.clock.advance(230 * (i % 7));
        long.clock.advance(230 * (i % 7));
      }
      expect(shortStore.calls.decide).toBe(longStore.calls.decide);
    },
  );

  it("hands on what a store throws, where the rule says so", async () => {
    const store = new RemoteStore();
    store.failing.add("decide");
    const rules = [{ id: "r", limit: three, onStoreFailure: "throw" }];
    const { requestHandler } = requestHandlerOf(rules, {}, { store });
    expect(requestHandler.policy.singleRulePath).toBeDefined();
    await expect((async () => requestHandler.handle(requestOf()))()).rejects.toThrow();
  });

  it("leaves to the long one what an address does not decide", () => {
    const others: object[][] = [
      [{ id: "r", limit: three, match: { path: "/x" } }],
      [{ id: "r", limit: three, match: { methods: ["POST"] } }],
      [{ id: "r", limit: three, match: { host: "example.com" } }],
      [{ id: "r", limit: three, key: "user" }],
      [{ id: "r", limit: three, key: ["ip", "endpoint"] }],
      [{ id: "r", limit: [three, tokenBucket({ capacity: 1, refillPerSecond: 1 })] }],
      [{ id: "r", limit: concurrency({ limit: 3, permitMs: 1_000 }) }],
      [{ id: "r", limit: three, when: { status: 401 } }],
      [{ id: "r", limit: three, settle: "code" }],
      [{ id: "r", limit: three, onExceed: "shadow" }],
      [{ id: "r", limit: three, expose: false }],
      [{ id: "r", limit: three, exempt: { ips: ["203.0.113.0/24"] } }],
      [{ id: "r", limit: three, tiers: { pro: "5/minute" } }],
      [{ id: "r", limit: three, cost: { methods: { POST: 2 } } }],
      [{ id: "r", limit: three, rollout: 50 }],
      [{ id: "r", limit: three, enabled: false }],
      [{ id: "r", limit: { quota: { limit: 3, period: "day" } } }],
      [
        {
          id: "r",
          limit: tokenBucket({ capacity: 1, refillPerSecond: 1 }),
          onExceed: "delay",
          delayMsMax: 100,
        },
      ],
      [
        { id: "a", limit: three },
        { id: "b", limit: three },
      ],
    ];
    for (const rules of others) {
      expect(
        requestHandlerOf(rules).requestHandler.policy.singleRulePath,
        JSON.stringify(rules),
      ).toBeUndefined();
    }
  });

  it("goes by the rules in force, and ends with the policy", async () => {
    const store = memoryStore();
    const { requestHandler, handle } = requestHandlerOf([{ id: "r", limit: three }], {}, { store });
    const { policy } = requestHandler;
    expect(handle().remaining).toBe(2);
    policy.disable("r");
    expect(handle().limit).toBe(Number.POSITIVE_INFINITY);
    policy.enable("r");
    expect(handle().remaining).toBe(1);
    policy.replace(parseRules({ version: 1, rules: [{ id: "r", limit: "5/minute" }] }));
    expect(handle().limit).toBe(5);
    await policy.block("r", "ip:203.0.113.10", 10_000);
    expect(handle().refusal?.status).toBe(429);
    await policy.close();
    expect(() => handle()).toThrow("used after it was closed: this policy");
  });

  it("writes a refusal once for all of a millisecond that are alike, and reports each", () => {
    const refused: unknown[] = [];
    const onRefused = (_info: unknown, request: unknown) => refused.push(request);
    const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
    const { handle, clock } = requestHandlerOf([{ id: "r", limit }], { onRefused });
    const [a, b] = [{ peer: "203.0.113.1" }, { peer: "203.0.113.2" }];
    for (const caller of [a, b]) handle(caller);
    const requests = [{}, {}, {}];
    const [first, again, other] = [a, a, b].map((caller, i) =>
      handle({ ...caller, raw: requests[i] }),
    );
    expect(again.refusal).toBe(first.refusal);
    expect(other.refusal).toBe(first.refusal);
    expect(again.decision).toBe(first.decision);
    expect(other.decision).not.toBe(first.decision);
    expect(other.decision.charges[0].key).toBe("ip:203.0.113.2");
    expect(refused).toEqual(requests);
    clock.advance(1);
    const later = handle(a);
    expect(later.refusal).not.toBe(first.refusal);
    expect(later.refusal?.body).toContain('"retryAfterMs":59999');
  });

  it("writes each refusal where it has a random part, or its body comes from code", () => {
    const limit = fixedWindow({ limit: 1, windowMs: 60_000 });
    const jittered = requestHandlerOf([{ id: "r", limit }], { retryAfterJitterMs: 1_000_000 });
    let bodies = 0;
    const written = requestHandlerOf([{ id: "r", limit }], {
      body: () => ({ type: "text/plain", text: `${++bodies}` }),
    });
    for (const { handle } of [jittered, written]) handle();
    const waits = [1, 2, 3].map(() => jittered.handle().refusal?.retryAfterMs);
    expect(new Set(waits).size).toBeGreaterThan(1);
    expect([1, 2, 3].map(() => written.handle().refusal?.body)).toEqual(["1", "2", "3"]);
  });

  it("charges a request once where its decision is looked at twice", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: three }]);
    const handled = handle();
    expect(handled.decision).toBe(handled.decision);
    expect(handled.decision.remaining).toBe(2);
    expect(handle().remaining).toBe(1);
  });

  it("makes a request count once where it has an id", () => {
    const { handle } = requestHandlerOf([{ id: "r", limit: three }], {
      requestId: () => "the same",
    });
    expect([handle().remaining, handle().remaining]).toEqual([2, 2]);
  });

  it("reports keys that never come back", () => {
    const kinds: string[] = [];
    const onEvent = ({ kind }: { kind: string }) => void kinds.push(kind);
    const limit = fixedWindow({ limit: 3, windowMs: 1_000 });
    const { handle, clock } = requestHandlerOf([{ id: "r", limit }], {}, { onEvent });
    for (let i = 0; i < 40_000; i++) {
      handle({ peer: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` });
      if (i % 10 === 0) clock.advance(1);
    }
    expect(kinds).toEqual(["useless-rule"]);
    expect(clock.now()).toBeGreaterThan(START_MS);
  });
});
