// What the other fields of a rule do to a durable one: shadows, rollouts, settling, exemptions, and looking at it.

import { afterEach, describe, expect, it } from "vitest";
import { RemoteStore } from "../../../test/remote-store.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { Facts } from "../facts.js";
import { createPolicy } from "./create-policy.js";
import type { Policy } from "./policy.js";
import type { PolicyOptions } from "./policy-options.js";

const facts: Facts = { method: "POST", path: "/exports", ip: "203.0.113.10", tenant: "acme" };
const LIMIT = 10;
const open: Policy[] = [];

function stand(rule: object, options: Partial<PolicyOptions> = {}) {
  const ledger = new RemoteStore();
  const policy = createPolicy({
    rules: {
      version: 1,
      rules: [
        {
          id: "exports",
          key: "tenant",
          limit: { quota: { limit: LIMIT, period: "month" } },
          durable: true,
          ...rule,
        },
      ],
    },
    durableStore: ledger,
    clock: new ManualClock(Date.UTC(2024, 0, 15)),
    ...options,
  });
  open.push(policy);
  const used = async () => {
    const [state] = await policy.state(facts);
    return LIMIT - (state?.remaining ?? LIMIT);
  };
  return { policy, ledger, used };
}

afterEach(async () => {
  for (const policy of open.splice(0)) await policy.close();
});

describe("a durable rule", () => {
  it("in shadow mode counts what passes and refuses nothing", async () => {
    const { policy } = stand({ onExceed: "shadow" });
    for (let n = 0; n < 12; n++) {
      expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    }
    const [result] = (await policy.peek(facts)).results;
    expect(result).toMatchObject({ shadow: true, verdict: { allowed: false, remaining: 0 } });
  });

  it("is charged by the keys of its rollout only", async () => {
    const { policy, ledger } = stand({ rollout: 0 });
    await policy.admit(facts);
    expect(ledger.calls.decide).toBe(0);
    const all = stand({ rollout: 100 });
    await all.policy.admit(facts);
    expect(await all.used()).toBe(1);
  });

  it("refunds what a response that does not count has reserved", async () => {
    const { policy, used } = stand({ when: { status: "2xx" }, cost: 3 });
    const failed = await policy.admit(facts);
    expect(await used()).toBe(3);
    await failed.finish({ status: 500 });
    expect(await used()).toBe(0);
    await (await policy.admit(facts)).finish({ status: 200 });
    expect(await used()).toBe(3);
  });

  it("is settled for what a request really cost, less or more than was reserved", async () => {
    const { policy, used } = stand({ settle: "code", cost: 3 });
    await (await policy.admit(facts)).finish({ cost: 1 });
    expect(await used()).toBe(1);
    await (await policy.admit(facts)).finish({ cost: 8 });
    expect(await used()).toBe(9);
    // A cost that is not a whole number of units leaves what was reserved: here the request is refused first.
    expect(await policy.admit(facts)).toMatchObject({ allowed: false });
  });

  it("keeps what was reserved if the real cost is not a whole number of units", async () => {
    const { policy, used } = stand({ settle: "code", cost: 3 });
    await (await policy.admit(facts)).finish({ cost: 1.5 });
    expect(await used()).toBe(3);
    await expect(async () => policy.admit(facts, { cost: 0.5 })).rejects.toMatchObject({
      code: "SLUICE_COST_INVALID",
    });
  });

  it("takes a reservation of the caller, and refunds it when it is cancelled", async () => {
    const { policy, used } = stand({});
    const held = await policy.admit(facts, { hold: true, cost: 4 });
    expect(await used()).toBe(4);
    await held.cancel();
    expect(await used()).toBe(0);
    await (await policy.admit(facts, { hold: true, cost: 4 })).finish({ cost: 2 });
    expect(await used()).toBe(2);
  });

  it("counts no exempt key and no exempt address", async () => {
    const byKey = stand({ exempt: { keys: ["tenant:acme"] } });
    await byKey.policy.admit(facts);
    expect(byKey.ledger.calls.decide).toBe(0);
    const byAddress = stand({ exempt: { ips: ["203.0.113.0/24"] } });
    await byAddress.policy.admit(facts);
    expect(byAddress.ledger.calls.decide).toBe(0);
  });

  it("is explained and looked at without a charge, and shown to its caller", async () => {
    const { policy, ledger } = stand({});
    await policy.admit(facts, { cost: 4 });
    const { decide } = ledger.calls;
    expect(await policy.explain(facts)).toMatchObject({
      allowed: true,
      rules: [
        {
          rule: "exports",
          key: "tenant:acme",
          limits: [{ algorithm: "quota", limit: LIMIT, remaining: 6, wouldPass: true }],
        },
      ],
    });
    expect(await policy.peek(facts)).toMatchObject({ allowed: true, remaining: 6 });
    expect(await policy.state({ ...facts, path: "/rate_limit", method: "GET" })).toEqual([
      expect.objectContaining({ rule: "exports", keyType: "tenant", limit: LIMIT, remaining: 6 }),
    ]);
    expect(ledger.calls.decide).toBe(decide);
  });

  it("is switched off and denied by operators as any other", async () => {
    const { policy, ledger } = stand({});
    policy.switch("exports", "off");
    expect(await policy.admit(facts)).toMatchObject({ allowed: true });
    policy.switch("exports", "deny");
    expect(await policy.admit(facts)).toMatchObject({ allowed: false, reason: "denied" });
    expect(ledger.calls.decide).toBe(0);
  });

  it("is refused where no response is seen and it would need one", () => {
    expect(() => stand({ when: { status: "2xx" } }, { seesResponses: false })).toThrow(
      'rule "exports": when needs to see responses',
    );
  });

  it("alone counts once by an id that is for durable rules, and others count each time", async () => {
    const ledger = new RemoteStore();
    const policy = createPolicy({
      rules: {
        version: 1,
        rules: [
          {
            id: "exports",
            key: "tenant",
            limit: { quota: { limit: 9, period: "day" } },
            durable: true,
          },
          { id: "burst", key: "tenant", limit: "9/minute" },
        ],
      },
      durableStore: ledger,
      clock: new ManualClock(Date.UTC(2024, 0, 15)),
    });
    open.push(policy);
    for (let n = 0; n < 3; n++) {
      await policy.admit(facts, { requestId: "a", requestIdFor: "durable" });
    }
    const remaining = (await policy.peek(facts)).results.map(({ verdict }) => verdict.remaining);
    expect(remaining).toEqual([8, 6]);
  });
});
