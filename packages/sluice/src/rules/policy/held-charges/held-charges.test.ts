import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  tokenBucket,
} from "../../../limits/limits.js";
import { ForwardingStore } from "../../../stores/forwarding-store.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import type { ChargeReceipt, Settling } from "../../../stores/store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyEvent } from "../policy-events.js";
import type { PolicyOptions } from "../policy-options.js";
import type { PolicyDecision } from "../policy-request/policy-decision.js";
import type { RequestEnd } from "./request-end.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function policyOf(rules: object[], options: Partial<PolicyOptions> = {}): Policy {
  return createPolicy({ rules: { version: 1, rules }, clock: new ManualClock(0), ...options });
}

const admit = (policy: Policy) => policy.admit(facts) as PolicyDecision;

function remaining(policy: Policy): number[] {
  const { results } = policy.peek(facts) as PolicyDecision;
  return results.map(({ verdict }) => verdict.remaining);
}

describe("a request that holds nothing", () => {
  it("has nothing to finish", () => {
    const decision = admit(policyOf([{ id: "a", limit: perMinute(5) }]));
    expect(decision.isHeld).toBe(false);
    expect(decision.finish({ status: 500 })).toBeUndefined();
    expect(decision.cancel()).toBeUndefined();
  });
});

describe("permits", () => {
  const rules = [
    { id: "exports", limit: [concurrency({ limit: 2, permitMs: 1_000 }), perMinute(9)] },
  ];

  it("are held until the request is finished, once, and what was paid besides stays", () => {
    const policy = policyOf(rules);
    const [first, second, third] = [admit(policy), admit(policy), admit(policy)];
    expect([first.allowed, second.allowed, third.allowed]).toEqual([true, true, false]);
    expect([first.isHeld, third.isHeld]).toEqual([true, false]);
    for (let i = 0; i < 3; i++) first.finish({ status: 200 });
    expect(remaining(policy)).toEqual([1, 7]);
    third.finish();
    expect(remaining(policy)).toEqual([1, 7]);
  });

  it("end by themselves if they are never finished", () => {
    const clock = new ManualClock(0);
    const policy = policyOf(rules, { clock });
    for (let i = 0; i < 3; i++) admit(policy);
    clock.advance(1_000);
    expect(remaining(policy)).toEqual([2, 7]);
  });

  it("last longer by the longest delay that a request may have before", () => {
    const clock = new ManualClock(0);
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 10 });
    const delay = { id: "slow", limit, onExceed: "delay", delayMsMax: 300 };
    const policy = policyOf([...rules, delay], { clock });
    expect(admit(policy).delayMs).toBe(0);
    expect(admit(policy).delayMs).toBe(100);
    clock.advance(1_299);
    expect(remaining(policy)[0]).toBe(0);
    clock.advance(1);
    expect(remaining(policy)[0]).toBe(2);
  });
});

describe("rules that count only some responses", () => {
  const left = (when: object, end: RequestEnd) => {
    const policy = policyOf([{ id: "login", limit: perMinute(5), when }]);
    admit(policy).finish(end);
    return remaining(policy)[0];
  };

  it("count by status, by class, or all but some", () => {
    expect(left({ status: [401, "5xx"] }, { status: 401 })).toBe(4);
    expect(left({ status: [401, "5xx"] }, { status: 503 })).toBe(4);
    expect(left({ status: [401, "5xx"] }, { status: 200 })).toBe(5);
    expect(left({ statusNot: [304] }, { status: 304 })).toBe(5);
    expect(left({ statusNot: [304] }, { status: 200 })).toBe(4);
  });

  it("count who hangs up before the response is known", () => {
    expect(left({ status: [401] }, {})).toBe(4);
  });

  it("let no parallel guesses slip through: what is under way counts", () => {
    const policy = policyOf([{ id: "login", limit: perMinute(3), when: { status: [401] } }]);
    const guesses = Array.from({ length: 10 }, () => admit(policy));
    expect(guesses.filter(({ allowed }) => allowed)).toHaveLength(3);
    for (const guess of guesses) guess.finish({ status: 200 });
    expect(remaining(policy)).toEqual([3]);
  });
});

describe("costs that are known afterwards", () => {
  const settled = (settle: unknown, end: RequestEnd) => {
    const policy = policyOf([{ id: "llm", limit: perMinute(1_000), cost: 100, settle }]);
    admit(policy).finish(end);
    return 1_000 - remaining(policy)[0];
  };

  it("come from code, from bytes or from a header", () => {
    expect(settled("code", { cost: 30 })).toBe(30);
    expect(settled("code", { cost: 250 })).toBe(250);
    expect(settled("code", { cost: 0 })).toBe(0);
    expect(settled("bytes", { bytes: 512 })).toBe(512);
    const header = (name: string) => (name === "x-tokens" ? "77" : undefined);
    expect(settled({ header: "x-tokens" }, { header })).toBe(77);
  });

  it("stay as reserved if nothing usable is said, and nothing is thrown", () => {
    for (const cost of [undefined, -1, 0.5, Number.NaN, "7" as never, Infinity]) {
      expect(settled("code", { cost })).toBe(100);
    }
    expect(settled("bytes", { cost: 5 })).toBe(100);
    expect(settled({ header: "x-tokens" }, { header: () => "1e3" })).toBe(100);
    expect(settled({ header: "x-tokens" }, {})).toBe(100);
  });

  /** What was read of a body: the numbers by path. */
  const bodyOf = (numbers: Record<string, number>, more: object = {}): RequestEnd => ({
    status: 200,
    body: {
      isComplete: true,
      problem: undefined,
      numberAt: (path) => numbers[path.join(".")],
      ...more,
    },
  });

  it("come from the body: the first alternative of each term, added up", () => {
    const json = ["a.b | c", "d | e"];
    expect(settled({ json }, bodyOf({ "a.b": 5, c: 70, d: 1, e: 200 }))).toBe(6);
    expect(settled({ json }, bodyOf({ c: 70, e: 200 }))).toBe(270);
    expect(settled({ json }, bodyOf({ "a.b": -5, c: 7 }))).toBe(7);
    expect(settled({ json }, bodyOf({ e: 0 }))).toBe(0);
    expect(settled({ json }, bodyOf({}))).toBe(100);
    expect(settled({ json }, bodyOf({ c: 2 ** 53 - 1, e: 2 }))).toBe(100);
    expect(settled({ json }, bodyOf({ c: 7 }, { problem: "malformed" }))).toBe(100);
    expect(settled({ json }, { status: 200 })).toBe(100);
  });

  it.each<[string | undefined, number | undefined, number]>([
    [undefined, 20, 100],
    [undefined, 120, 120],
    [undefined, undefined, 100],
    ["seen", 20, 20],
    ["seen", 120, 120],
    ["seen", 0, 0],
    ["seen", undefined, 100],
  ])("of a response that was cut short, with onAbort %s and %s seen, are %s", (by, c, units) => {
    const settle = by === undefined ? { json: "c" } : { json: "c", onAbort: by };
    const numbers: Record<string, number> = c === undefined ? {} : { c };
    expect(settled(settle, bodyOf(numbers, { isComplete: false }))).toBe(units);
  });

  it("are reported once for each rule, with what was reserved and why it stays", () => {
    const events: PolicyEvent[] = [];
    const limit = [perMinute(1_000), perMinute(2_000), concurrency({ limit: 5, permitMs: 1_000 })];
    const rules = [
      { id: "llm", limit, cost: 100, settle: { json: "c" } },
      { id: "code", limit: perMinute(500), cost: 3, settle: "code" },
      { id: "failures", limit: perMinute(500), when: { status: 500 } },
      { id: "paid", limit: perMinute(500), cost: 7, settle: "bytes", when: { statusNot: 404 } },
    ];
    const policy = policyOf(rules, { onEvent: (event) => events.push(event) });
    admit(policy).finish({ ...bodyOf({ c: 12 }), cost: 4, bytes: 50 });
    admit(policy).finish({ status: 404 });
    admit(policy).finish({});
    const event = (rule: string, by: string, reserved: number, left: number, reason?: string) => ({
      kind: "settled",
      rule,
      by,
      reserved,
      settled: left,
      reason,
    });
    expect(events).toEqual([
      event("llm", "json", 100, 12),
      event("code", "code", 3, 4),
      event("paid", "bytes", 7, 50),
      event("llm", "json", 100, 100, "no-response"),
      event("code", "code", 3, 3, "missing"),
      event("paid", "bytes", 7, 0),
      event("llm", "json", 100, 100, "no-response"),
      event("code", "code", 3, 3, "no-response"),
      // Without a response a guess counts.
      { kind: "counted", rule: "failures", key: "ip:203.0.113.10" },
      event("paid", "bytes", 7, 7, "no-response"),
    ]);
  });

  it("above what was reserved are debt, never refused afterwards", () => {
    const policy = policyOf([{ id: "llm", limit: perMinute(100), cost: 1, settle: "code" }]);
    admit(policy).finish({ cost: 5_000 });
    expect(remaining(policy)).toEqual([0]);
  });

  it("of a quota are settled by the wall clock", () => {
    const clock = { now: () => Date.UTC(2027, 0, 1), wall: () => Date.UTC(2026, 0, 1) };
    const limit = quota({ limit: 100, period: "month" });
    const policy = policyOf([{ id: "q", limit, cost: 10, settle: "code" }], { clock });
    admit(policy).finish({ cost: 4 });
    expect(remaining(policy)).toEqual([96]);
  });
});

describe("a refund by an operator while a request is under way", () => {
  it("is not refunded once more when the request ends", () => {
    const rules = [{ id: "llm", limit: perMinute(100), cost: { function: "f" }, settle: "code" }];
    let cost = 40;
    const policy = policyOf(rules, { costs: { f: () => cost } });
    const reserved = admit(policy);
    policy.refund("llm", "ip:203.0.113.10", 40);
    cost = 30;
    admit(policy);
    reserved.finish({ cost: 0 });
    expect(remaining(policy)).toEqual([70]);
  });
});

describe("a request that gives up waiting", () => {
  it("refunds what it holds except the tokens that it waited for, which the store counts as spent", () => {
    const settled: (readonly [string, number])[] = [];
    class Listening extends ForwardingStore {
      override settle(settlings: readonly Settling[]) {
        settled.push(
          ...settlings.map(({ receipt, kept }) => [receipt.counter.scope, kept] as const),
        );
        return super.settle(settlings);
      }
    }
    const limit = tokenBucket({ capacity: 5, refillPerSecond: 10 });
    const slow = { id: "slow", limit, onExceed: "delay", delayMsMax: 1_000, cost: 5 };
    const rules = [
      { ...slow, settle: "code" },
      { id: "places", limit: concurrency({ limit: 2, permitMs: 1_000 }) },
    ];
    const policy = policyOf(rules, { store: new Listening(memoryStore()) });
    admit(policy);
    const waiting = admit(policy);
    expect(waiting.delayMs).toBe(500);
    waiting.abandon();
    waiting.finish({ cost: 1 });
    expect(settled).toEqual([
      ["slow", 5],
      ["places", 0],
    ]);
  });
});

describe("the tokens of a request that gives up waiting", () => {
  it("is kept in its store, where it was held only in case that the request does not go on", () => {
    const kept: string[] = [];
    class Listening extends ForwardingStore {
      override keep(receipt: ChargeReceipt) {
        kept.push(receipt.counter.scope);
      }
    }
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 10 });
    const rules = [{ id: "slow", limit, onExceed: "delay", delayMsMax: 1_000 }];
    const policy = policyOf(rules, { store: new Listening(memoryStore()) });
    admit(policy);
    kept.length = 0;
    admit(policy).abandon();
    expect(kept).toEqual(["slow"]);
    expect(admit(policy).delayMs).toBe(200);
  });
});

describe("a permit that is decided after a shaper", () => {
  it("starts when its request goes on, also if the shaper was asked before the caller was known", () => {
    const clock = new ManualClock(0);
    const shape = leakyBucket({ ratePerSecond: 1, queueSize: 9 });
    const places = concurrency({ limit: 10, permitMs: 2_000 });
    const rules = [
      { id: "shape", limit: shape },
      { id: "places", key: "user", limit: places },
    ];
    const policy = policyOf(rules, { clock });
    const known = { ...facts, user: "42" };
    for (let i = 0; i < 10; i++) policy.admit(facts, { identify: () => known });
    const free = () => (policy.peek(known) as PolicyDecision).results[1].verdict.remaining;
    clock.advance(9_000 + 1_999);
    expect(free()).toBe(0);
    clock.advance(1);
    expect(free()).toBe(10);
  });
});

describe("a header function that throws", () => {
  it("leaves what it settles as reserved, and settles the rest", () => {
    const policy = policyOf([
      { id: "llm", limit: perMinute(100), cost: 10, settle: { header: "x-cost" } },
      { id: "places", limit: concurrency({ limit: 2, permitMs: 1_000 }) },
    ]);
    const header = () => {
      throw new Error("gone");
    };
    admit(policy).finish({ status: 200, header });
    expect(remaining(policy)).toEqual([90, 2]);
  });
});

describe("cancel", () => {
  it("refunds a reservation and releases a permit, once, and finish does nothing after it", () => {
    const policy = policyOf([
      { id: "llm", limit: perMinute(100), cost: 10, settle: "code" },
      { id: "places", limit: concurrency({ limit: 2, permitMs: 1_000 }) },
    ]);
    const decision = admit(policy);
    decision.cancel();
    decision.finish({ cost: 50 });
    decision.cancel();
    expect(remaining(policy)).toEqual([100, 2]);
  });

  it("refunds a delayed request's tokens, and all that it was charged besides in other stores", async () => {
    const limit = tokenBucket({ capacity: 1, refillPerSecond: 10 });
    const rules = [
      { id: "near", consistency: "local", limit: perMinute(9) },
      { id: "slow", limit, onExceed: "delay", delayMsMax: 1_000 },
    ];
    const policy = policyOf(rules, { store: new RemoteStore() });
    const first = await policy.admit(facts);
    expect([first.delayMs, first.isHeld]).toEqual([0, false]);
    const second = await policy.admit(facts);
    expect([second.delayMs, second.isHeld]).toEqual([100, true]);
    await second.cancel();
    const { results } = await policy.peek(facts);
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([8, 0]);
    expect((await policy.admit(facts)).delayMs).toBe(100);
  });
});

describe("the time of finish, cancel and abandon", () => {
  const rules = [
    { id: "llm", limit: perMinute(100), cost: 10, settle: "code" },
    { id: "places", limit: concurrency({ limit: 1, permitMs: 9_000 }) },
    { id: "month", limit: quota({ limit: 100, period: "month" }), settle: "code" },
  ];
  const settledAt: number[] = [];
  class Listening extends ForwardingStore {
    override settle(settlings: readonly Settling[]) {
      settledAt.push(...settlings.map(({ nowMs }) => nowMs));
      return super.settle(settlings);
    }
  }

  it.each<[string, (decision: PolicyDecision) => unknown]>([
    ["finish", (decision) => decision.finish({ status: 200, nowMs: 400.5 })],
    ["cancel", (decision) => decision.cancel({ nowMs: 400.5 })],
    ["abandon", (decision) => decision.abandon({ nowMs: 400.5 })],
  ])("is the one that %s is passed, except under a quota, which goes by the calendar", (_, end) => {
    settledAt.length = 0;
    const policy = policyOf(rules, { store: new Listening(memoryStore()) });
    end(admit(policy));
    expect(settledAt).toEqual([400, 400, 0]);
  });

  it("says how long a permit was held", () => {
    const policy = policyOf([rules[1] as object]);
    admit(policy).finish({ nowMs: 400 });
    admit(policy);
    expect(admit(policy).waitMs).toBe(400);
  });

  it("says nothing of a key that is blocked, which waits for the end of its block", async () => {
    const policy = policyOf([rules[1] as object]);
    admit(policy).finish({ nowMs: 400 });
    await policy.block("places", "ip:203.0.113.10", 5_000);
    expect(admit(policy)).toMatchObject({ allowed: false, waitMs: 5_000 });
  });

  it("must be a time, or nothing is settled", () => {
    const policy = policyOf(rules);
    const decision = admit(policy);
    const invalid = expect.objectContaining({ code: "SLUICE_TIME_INVALID" });
    expect(() => decision.finish({ nowMs: -1 })).toThrow(invalid);
    expect(() => decision.cancel({ nowMs: -1 })).toThrow(invalid);
    expect(() => decision.abandon({ nowMs: -1 })).toThrow(invalid);
    expect(remaining(policy)).toEqual([90, 0, 99]);
  });
});

describe("what is held over several stores", () => {
  it("is settled in each, and what was final stays", async () => {
    const store = new RemoteStore();
    const policy = policyOf(
      [
        { id: "login", consistency: "local", limit: perMinute(5), when: { status: [401] } },
        { id: "near", consistency: "local", limit: perMinute(5) },
        { id: "far", limit: perMinute(5), cost: 2, settle: "code" },
        { id: "plain", limit: perMinute(5) },
      ],
      { store },
    );
    const decision = await policy.admit(facts);
    await decision.finish({ status: 200, cost: 1 });
    const { settle } = store.calls;
    await decision.finish({ status: 200, cost: 1 });
    await decision.cancel();
    expect([settle, store.calls.settle]).toEqual([1, 1]);
    const { results } = await policy.peek(facts);
    expect(results.map(({ verdict }) => verdict.remaining)).toEqual([5, 4, 4, 4]);
  });

  it("is settled by the rules that it was charged by, though they were replaced", () => {
    const policy = policyOf([{ id: "llm", limit: perMinute(100), cost: 10, settle: "code" }]);
    const decision = admit(policy);
    policy.replace({ version: 1, rules: [{ id: "llm", limit: perMinute(100) }] });
    decision.finish({ cost: 3 });
    expect(remaining(policy)).toEqual([97]);
  });
});

describe("a store that fails to settle", () => {
  class Failing extends ForwardingStore {
    mood: "throws" | "rejects" = "throws";
    override settle(): Promise<void> {
      if (this.mood === "throws") throw new Error("gone");
      return Promise.reject(new Error("gone"));
    }
  }

  it("is reported as an event and never thrown from finish", async () => {
    const store = new Failing(memoryStore());
    const events: PolicyEvent[] = [];
    const rules = [{ id: "login", limit: perMinute(5), when: { status: [401] } }];
    const policy = policyOf(rules, { store, onEvent: (event) => events.push(event) });
    for (store.mood of ["throws", "rejects"] as const) {
      await admit(policy).finish({ status: 200 });
      await admit(policy).cancel();
    }
    expect(events).toHaveLength(4);
    expect(events[0]).toMatchObject({ kind: "settle-failed", rules: ["login"] });
    expect(remaining(policy)).toEqual([1]);
  });

  it("because it was closed is no event", async () => {
    const events: PolicyEvent[] = [];
    const rules = [{ id: "login", limit: perMinute(5), when: { status: [401] } }];
    const policy = policyOf(rules, { onEvent: (event) => events.push(event) });
    const decision = admit(policy);
    await policy.close();
    expect(() => decision.finish({ status: 200 })).not.toThrow();
    expect(events).toEqual([]);
  });
});
