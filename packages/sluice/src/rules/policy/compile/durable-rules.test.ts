// Durable rules: which store decides them, in which order, and what a request that is sent twice costs.

import { afterEach, describe, expect, it } from "vitest";
import { RemoteStore } from "../../../../test/remote-store.js";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import type { Charge, DecideOptions, Outcome, Store } from "../../../stores/store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type RuleException, withExceptions } from "../../exceptions.js";
import type { Facts } from "../../facts.js";
import { RulesError } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import type { Policy } from "../policy.js";
import type { PolicyOptions } from "../policy-options.js";

const NOON_MS = Date.UTC(2024, 0, 15, 12);
const facts: Facts = { method: "POST", path: "/exports", ip: "203.0.113.10", tenant: "acme" };
const monthly = (limit: number) => ({ quota: { limit, period: "month" } });

/** A store behind a network that keeps what it was asked. */
class Ledger extends RemoteStore {
  readonly asked: { charges: readonly Charge[]; options: DecideOptions | undefined }[] = [];

  override async decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    this.asked.push({ charges, options });
    return super.decide(charges, options);
  }
}

const open: Policy[] = [];

function stand(rules: object[], options: Partial<PolicyOptions> = {}) {
  const ledger = new Ledger();
  const clock = new ManualClock(NOON_MS);
  const policy = createPolicy({
    rules: { version: 1, rules },
    durableStore: ledger,
    clock,
    ...options,
  });
  open.push(policy);
  return { ledger, clock, policy };
}

/** Remaining units of each limit, in the order of rules. */
async function left(policy: Policy, of: Facts = facts): Promise<number[]> {
  return (await policy.peek(of)).results.map(({ verdict }) => verdict.remaining);
}

afterEach(async () => {
  for (const policy of open.splice(0)) await policy.close();
});

describe("a durable rule", () => {
  it("is an error without a durable store, which names the rule and says what to set", () => {
    const rules =
      "version: 1\nrules:\n  - id: exports\n    limit: { quota: { limit: 5, period: day } }\n    durable: true\n";
    expect(() => createPolicy({ rules })).toThrow(RulesError);
    expect(() => createPolicy({ rules })).toThrow(
      'rule "exports": durable needs a database to keep its quotas in: set ledger.database or control.database in the configuration (in code: durableStore of createPolicy) (line 3)',
    );
  });

  it("refuses a durable store that is not one", () => {
    const durableStore = {} as Store;
    expect(() => stand([], { durableStore })).toThrow("durableStore must be a store");
  });

  it("is counted in the durable store, and other rules are not", async () => {
    const store = memoryStore();
    const { policy, ledger } = stand(
      [
        {
          id: "exports",
          key: "tenant",
          limit: monthly(10),
          durable: { carryOver: 3, alertAt: [50] },
        },
        { id: "burst", key: "tenant", limit: "5/minute" },
      ],
      { store },
    );
    await policy.admit(facts);
    expect(ledger.asked.map(({ charges }) => charges.map(({ counter }) => counter))).toEqual([
      [
        expect.objectContaining({
          scope: "exports",
          durable: { carryOverMax: 3, alertShares: [0.5] },
          onStoreFailure: "closed",
          timeoutMs: 1_000,
        }),
      ],
    ]);
    expect(await left(policy)).toEqual([9, 4]);
  });

  it("is asked after all others, and not about what they refuse", async () => {
    const { policy, ledger } = stand(
      [
        { id: "exports", key: "tenant", limit: monthly(10), durable: true, priority: 9 },
        { id: "burst", key: "tenant", limit: "1/minute" },
      ],
      { store: new RemoteStore() },
    );
    expect((await policy.admit(facts)).allowed).toBe(true);
    expect(await policy.admit(facts)).toMatchObject({ allowed: false, rule: "burst" });
    expect(ledger.calls.decide).toBe(1);
    expect((await policy.peek(facts)).results[0].verdict.remaining).toBe(9);
  });

  it("that refuses refunds what the others charged, whatever their consistency", async () => {
    for (const consistency of ["local", "eventual", "leased", "strict"]) {
      const { policy } = stand(
        [
          {
            id: "rate",
            key: "tenant",
            consistency,
            limit: { fixedWindow: { limit: 9, windowMs: 60_000 } },
          },
          { id: "leased", key: "tenant", consistency: "leased", limit: monthly(9), durable: true },
          { id: "strict", key: "tenant", limit: monthly(2), durable: true },
        ],
        { store: new RemoteStore() },
      );
      const answers = [];
      for (let n = 0; n < 5; n++) answers.push((await policy.admit(facts)).allowed);
      expect(answers).toEqual([true, true, false, false, false]);
      expect([consistency, ...(await left(policy))]).toEqual([consistency, 7, 7, 0]);
    }
  });

  it("is refused when its store does not answer, as the rule says by default", async () => {
    const { policy, ledger } = stand([
      { id: "exports", key: "tenant", limit: monthly(10), durable: true },
    ]);
    ledger.failing.add("decide");
    expect(await policy.admit(facts)).toMatchObject({ allowed: false, reason: "store" });
  });

  it("passes when its store does not answer, if the rule says so", async () => {
    const { policy, ledger } = stand([
      { id: "exports", key: "tenant", limit: monthly(10), durable: true, onStoreFailure: "open" },
    ]);
    ledger.failing.add("decide");
    expect(await policy.admit(facts)).toMatchObject({ allowed: true, source: "fallback" });
  });

  it("takes a grant by another process within a second of a refusal", async () => {
    const { policy, ledger, clock } = stand([
      { id: "exports", key: "tenant", limit: monthly(1), durable: true },
    ]);
    await policy.admit(facts);
    expect((await policy.admit(facts)).allowed).toBe(false);
    const { decide } = ledger.calls;
    expect((await policy.admit(facts)).source).toBe("deny-cache");
    expect(ledger.calls.decide).toBe(decide);
    const [{ charges }] = ledger.asked;
    await ledger.refund(charges);
    clock.advance(1_000);
    expect((await policy.admit(facts)).allowed).toBe(true);
  });

  it("keeps its counters over a replacement, and starts in the ledger when it becomes durable", async () => {
    const rule = { id: "exports", key: "tenant", limit: monthly(10) };
    const { policy } = stand([{ ...rule, durable: true }]);
    await policy.admit(facts, { cost: 4 });
    policy.replace({ version: 1, rules: [{ ...rule, limit: monthly(20), durable: true }] });
    expect(await left(policy)).toEqual([16]);
    policy.replace({ version: 1, rules: [rule] });
    expect(await left(policy)).toEqual([10]);
  });
});

describe("a durable rule that is leased", () => {
  const rule = {
    id: "exports",
    key: "tenant",
    limit: monthly(10_000),
    consistency: "leased",
    durable: true,
  };

  it("takes leases, spends them in process and returns the rest", async () => {
    const { policy, ledger } = stand([rule]);
    for (let n = 0; n < 500; n++) await policy.admit(facts);
    const leases = ledger.asked.filter(({ options }) => options?.hold === "lease");
    expect(leases.length).toBeGreaterThan(0);
    expect(ledger.calls.decide).toBeLessThan(250);
    expect(policy.stats.durableLeased?.leasedDecisions).toBeGreaterThan(250);
    expect(policy.stats.leased).toBeUndefined();
    expect(await left(policy)).toEqual([9_500]);
    await policy.close();
    const [charge] = ledger.asked[0].charges;
    expect((await ledger.peek([{ ...charge, cost: 0 }]))[0].remaining).toBe(9_500);
    expect(ledger.calls.close).toBe(0);
  });

  it("is leased also out of a store in this process", async () => {
    const { policy } = stand([rule], { durableStore: memoryStore() });
    for (let n = 0; n < 100; n++) await policy.admit(facts);
    expect(policy.stats.durableLeased?.leasedDecisions).toBeGreaterThan(0);
    expect(await left(policy)).toEqual([9_900]);
  });
});

describe("a request with an id", () => {
  it.each(["strict", "leased"])(
    "is charged once by a %s durable rule, however often it is sent",
    async (consistency) => {
      const { policy, clock } = stand([
        { id: "exports", key: "tenant", limit: monthly(3), consistency, durable: true },
        { id: "burst", key: "tenant", limit: "9/minute" },
      ]);
      for (let n = 0; n < 5; n++) {
        expect((await policy.admit(facts, { requestId: "a", cost: 3 })).allowed).toBe(true);
        clock.advance(1);
      }
      expect(await left(policy)).toEqual([0, 6]);
      expect((await policy.admit(facts, { requestId: "b" })).allowed).toBe(false);
      // Known to be refused, but this one was admitted before.
      expect((await policy.admit(facts, { requestId: "a", cost: 3 })).allowed).toBe(true);
    },
  );

  it("is an error with another cost", async () => {
    const { policy } = stand([{ id: "exports", key: "tenant", limit: monthly(9), durable: true }]);
    await policy.admit(facts, { requestId: "a" });
    const again = async () => policy.admit(facts, { requestId: "a", cost: 2 });
    await expect(again()).rejects.toMatchObject({ code: "SLUICE_REQUEST_ID_REUSED" });
    expect(await left(policy)).toEqual([8]);
  });
});

describe("what a tenant used of a durable quota", () => {
  const rule = {
    id: "exports",
    key: "tenant",
    limit: monthly(100),
    tiers: { pro: monthly(1_000), free: monthly(10) },
    durable: true,
  };

  it("stays when its tier changes, to a larger quota and back", async () => {
    const { policy } = stand([rule]);
    await policy.admit(facts, { cost: 60 });
    expect(await left(policy, { ...facts, tier: "pro" })).toEqual([940]);
    await policy.admit({ ...facts, tier: "pro" }, { cost: 5 });
    expect(await left(policy)).toEqual([35]);
    expect((await policy.admit({ ...facts, tier: "free" })).allowed).toBe(false);
  });

  it("stays when its plan, an exception or an override comes", async () => {
    const { policy } = stand([rule]);
    const before = policy.rules;
    await policy.admit(facts, { cost: 60 });
    const exceptions: RuleException[] = [
      { ruleId: "exports", by: "plan", value: "gold", limits: monthly(500) },
      { ruleId: "exports", by: "tenant", value: "acme", limits: monthly(300) },
    ];
    policy.replace(withExceptions(before, exceptions.slice(0, 1)));
    expect(await left(policy, { ...facts, plan: "gold" })).toEqual([440]);
    expect(await left(policy, { ...facts, plan: "gold", tier: "pro" })).toEqual([440]);
    policy.replace(withExceptions(before, exceptions));
    expect(await left(policy, { ...facts, plan: "gold", tier: "pro" })).toEqual([240]);
    policy.replace({ version: 1, rules: [{ ...rule, overrides: { "tenant:acme": monthly(61) } }] });
    expect(await left(policy, { ...facts, tier: "pro" })).toEqual([1]);
  });

  it("refuses exceptions that are not quotas", () => {
    const { policy } = stand([rule]);
    const exception: RuleException = {
      ruleId: "exports",
      by: "plan",
      value: "gold",
      limits: "5/second",
    };
    expect(() => withExceptions(policy.rules, [exception])).toThrow(
      'rule "exports": exceptions["plan:gold"] is a slidingWindowLog; a durable rule has quotas only',
    );
  });

  it("is refunded once by an operator, though several tiers may hold", async () => {
    const { policy } = stand([rule]);
    await policy.admit({ ...facts, tier: "pro" }, { cost: 60 });
    expect(await policy.refund("exports", "tenant:acme", 10)).toBe(10);
    expect(await left(policy, { ...facts, tier: "pro" })).toEqual([950]);
  });

  it("is counted by tier where users share no tenant, as other rules are", async () => {
    const { policy } = stand([{ ...rule, key: "user" }]);
    const user = { ...facts, user: "42" };
    await policy.admit(user, { cost: 60 });
    expect(await left(policy, { ...user, tier: "pro" })).toEqual([1_000]);
  });
});
