import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixedWindow, tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { type RuleException, withExceptions } from "../../exceptions.js";
import type { Facts } from "../../facts.js";
import { parseRules } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import { callerBlocks } from "../operator/caller-blocks.js";
import type { Policy } from "../policy.js";
import type { PolicyDecision } from "./policy-decision.js";

const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

const RULES = {
  version: 1,
  rules: [
    { id: "ip", key: "ip", limit: perMinute(6) },
    { id: "user", key: "user", limit: tokenBucket({ capacity: 5, refillPerSecond: 1 }) },
    { id: "tenant", key: "tenant", match: { path: "/closed" }, limit: perMinute(9), shards: 2 },
    { id: "watching", key: "global", limit: perMinute(4), onExceed: "shadow" },
  ],
};

const callers = fc.record({
  ip: fc.constantFrom("203.0.113.10", "203.0.113.11", "198.51.100.7"),
  user: fc.constantFrom("42", "43"),
  tenant: fc.constantFrom("acme", "beta"),
  path: fc.constantFrom("/", "/closed"),
});
const steps = fc.array(fc.tuple(callers, fc.boolean(), fc.integer({ min: 0, max: 20_000 })), {
  maxLength: 40,
});

function stateOf(policy: Policy, caller: Partial<Facts>): readonly unknown[] {
  const decision = policy.peek({ method: "GET", path: "/closed", ...caller }) as PolicyDecision;
  return decision.results.map(({ rule, verdict }) => [rule, verdict.remaining, verdict.resetMs]);
}

describe("requests that operators refuse", () => {
  it("are charged nowhere, whether the caller is known or found out", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (requests) => {
        const [clock, other] = [new ManualClock(0), new ManualClock(0)];
        const policy = createPolicy({ rules: RULES, clock });
        const undisturbed = createPolicy({ rules: RULES, clock: other });
        const blocks = callerBlocks([
          { subject: "ip:203.0.113.11", reason: "address" },
          { subject: ["user:43"], reason: "user" },
        ]);
        policy.blockCallers(blocks);
        policy.switch("tenant", "deny");
        for (const [caller, isLate, afterMs] of requests) {
          clock.advance(afterMs);
          other.advance(afterMs);
          const facts = { method: "GET", ...caller };
          const { user, tenant, ...shown } = facts;
          const decision = isLate
            ? await policy.admit(shown, { identify: async () => facts })
            : await policy.admit(facts);
          const isRefused =
            caller.ip === "203.0.113.11" || caller.user === "43" || caller.path === "/closed";
          if (isRefused) expect(["blocked", "denied", "limit"]).toContain(decision.reason);
          else await undisturbed.admit(facts);
        }
        policy.blockCallers(undefined);
        policy.switch("tenant", "on");
        for (const ip of ["203.0.113.10", "203.0.113.11"]) {
          for (const user of ["42", "43"]) {
            const caller = { ip, user, tenant: "acme" };
            expect(stateOf(policy, caller)).toEqual(stateOf(undisturbed, caller));
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("exceptions", () => {
  const other = (by: RuleException["by"], value: string, limit: number): RuleException => ({
    ruleId: "api",
    by,
    value,
    limits: perMinute(limit),
  });
  const traffic = fc.array(
    fc.record({
      tenant: fc.constantFrom("acme", "beta", undefined),
      plan: fc.constantFrom("gold", undefined),
      tier: fc.constantFrom("pro", undefined),
      apiKey: fc.constantFrom("k1", "k2"),
      user: fc.constantFrom("42", undefined),
    }),
    { maxLength: 120 },
  );

  it("admit no more than the limit of each, however callers that share a key alternate", () => {
    const rules = withExceptions(
      parseRules({
        version: 1,
        rules: [{ id: "api", key: "ip", limit: perMinute(3), tiers: { pro: perMinute(5) } }],
      }),
      [
        other("apiKey", "k1", 7),
        other("user", "42", 6),
        other("tenant", "acme", 9),
        other("plan", "gold", 4),
      ],
    );
    fc.assert(
      fc.property(traffic, (requests) => {
        const policy = createPolicy({ rules, clock: new ManualClock(0) });
        const admitted = new Map<string, number>();
        const most = new Map<string, number>();
        for (const caller of requests) {
          const facts = { method: "GET", path: "/", ip: "203.0.113.10", ...caller };
          const decision = policy.admit(facts) as PolicyDecision;
          const { scope } = decision.charges[0].counter;
          most.set(scope, decision.limit);
          if (decision.allowed) admitted.set(scope, (admitted.get(scope) ?? 0) + 1);
        }
        for (const [scope, count] of admitted)
          expect(count).toBeLessThanOrEqual(most.get(scope) ?? 0);
      }),
      { numRuns: 100 },
    );
  });

  it("that raise a limit again and again mint no budget: what was used carries over", () => {
    const rule = { id: "api", key: "tenant", limit: perMinute(5) };
    const bare = parseRules({ version: 1, rules: [rule] });
    const round = fc.record({
      by: fc.constantFrom("tenant", "plan"),
      more: fc.integer({ min: 0, max: 4 }),
      requests: fc.integer({ min: 0, max: 8 }),
    });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 12 }), (rounds) => {
        const policy = createPolicy({ rules: bare, clock: new ManualClock(0) });
        const facts = { method: "GET", path: "/", tenant: "acme", plan: "gold" };
        let [admitted, limit] = [0, 5];
        for (const { by, more, requests } of rounds) {
          limit += more;
          const value = by === "tenant" ? "acme" : "gold";
          policy.replace(withExceptions(bare, [other(by as "tenant" | "plan", value, limit)]));
          for (let i = 0; i < requests; i++) {
            if ((policy.admit(facts) as PolicyDecision).allowed) admitted++;
          }
          expect(admitted).toBeLessThanOrEqual(limit);
          expect(policy.peek(facts)).toMatchObject({ remaining: limit - admitted });
        }
      }),
      { numRuns: 100 },
    );
  });
});
