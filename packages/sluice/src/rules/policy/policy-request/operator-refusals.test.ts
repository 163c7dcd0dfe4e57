import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import { createPolicy } from "../create-policy.js";
import type { CallerBlocks } from "../operator/caller-blocks.js";
import type { Explanation } from "../peek/explain.js";
import type { Policy } from "../policy.js";
import type { PolicyOptions } from "../policy-options.js";
import type { PolicyDecision } from "./policy-decision.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });

function policyOf(rules: object[], options: Partial<PolicyOptions> = {}, file = {}): Policy {
  const clock = new ManualClock(0);
  return createPolicy({ rules: { version: 1, ...file, rules }, clock, ...options });
}

function admit(policy: Policy, more: Partial<Facts> = {}): PolicyDecision {
  return policy.admit({ ...facts, ...more }) as PolicyDecision;
}

const untilMs = 10_000;
const byAddress: CallerBlocks = {
  needsIdentity: false,
  find: ({ ip }) => (ip === facts.ip ? { reason: "scraper", untilMs } : undefined),
};
const byUser: CallerBlocks = {
  needsIdentity: true,
  find: ({ user }) =>
    user === "42"
      ? { reason: "abuse", untilMs: Number.POSITIVE_INFINITY, subject: "user:42" }
      : undefined,
};

describe("blocked callers", () => {
  it("are refused under every rule, until the block ends", () => {
    const clock = new ManualClock(0);
    const policy = policyOf([{ id: "api", limit: perMinute(9) }], { clock });
    expect(policy.singleRulePath).toBeDefined();
    policy.blockCallers(byAddress);
    expect(policy.singleRulePath).toBeUndefined();
    expect(admit(policy).toJSON()).toEqual({
      allowed: false,
      rule: undefined,
      reason: "blocked",
      limit: Number.POSITIVE_INFINITY,
      remaining: 0,
      retryAfterMs: 10_000,
      resetMs: 0,
      delayMs: 0,
      blockedMs: 10_000,
      source: "memory",
      version: policy.version,
    });
    expect(admit(policy).block).toEqual({ reason: "scraper", untilMs });
    expect(admit(policy, { ip: "203.0.113.11" }).allowed).toBe(true);
    clock.set(9_999);
    expect(admit(policy)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.set(10_000);
    expect(admit(policy)).toMatchObject({ allowed: true, remaining: 8 });
    policy.blockCallers(undefined);
    expect(policy.singleRulePath).toBeDefined();
  });

  it("are refused where everything is switched off, and from exempt addresses", () => {
    const exempt = { exempt: { ips: ["203.0.113.0/24"] } };
    const policy = policyOf([{ id: "api", limit: perMinute(9) }], {}, exempt);
    policy.blockCallers(byAddress);
    expect(admit(policy).reason).toBe("blocked");
    policy.disable();
    expect(admit(policy).reason).toBe("blocked");
  });

  it("are found once they are identified, and what was charged before is refunded", async () => {
    const policy = policyOf([{ id: "api", limit: perMinute(9) }]);
    expect(policy.needsIdentity).toBe(false);
    policy.blockCallers(byUser);
    expect(policy.needsIdentity).toBe(true);
    const identify = async () => ({ ...facts, user: "42" });
    expect(await policy.admit(facts, { identify })).toMatchObject({
      allowed: false,
      reason: "blocked",
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    policy.blockCallers(undefined);
    expect(policy.peek(facts)).toMatchObject({ remaining: 9 });
  });

  it("are not identified if their address is blocked", () => {
    const policy = policyOf([{ id: "api", key: "user", limit: perMinute(9) }]);
    policy.blockCallers({ ...byAddress, needsIdentity: true });
    const identify = () => {
      throw new Error("identified");
    };
    expect(policy.admit(facts, { identify })).toMatchObject({ reason: "blocked" });
  });

  it("are shown by peek and explain", () => {
    const policy = policyOf([{ id: "api", limit: perMinute(9) }]);
    policy.blockCallers(byUser);
    expect(policy.peek({ ...facts, user: "42" })).toMatchObject({ reason: "blocked" });
    const explained = policy.explain({ ...facts, user: "42" }) as Explanation;
    expect(explained).toMatchObject({
      allowed: false,
      rule: null,
      reason: "blocked",
      retryAfterMs: null,
      block: { subject: "user:42", reason: "abuse", untilMs: null },
      switch: "on",
    });
    expect(explained.rules[0].limits[0]).toMatchObject({ remaining: 9 });
  });
});

describe("a switch to deny", () => {
  it("refuses what the rule matches, exempt or not, and charges nothing", () => {
    const events: unknown[] = [];
    const onEvent = (event: unknown) => events.push(event);
    const policy = policyOf(
      [
        { id: "api", limit: perMinute(9) },
        {
          id: "login",
          match: { path: "/login" },
          limit: perMinute(5),
          exempt: { keys: ["ip:203.0.113.10"] },
        },
      ],
      { onEvent },
    );
    policy.switch("login", "deny");
    expect(events).toEqual([{ kind: "denied", rule: "login" }]);
    expect(admit(policy, { path: "/login" })).toMatchObject({
      allowed: false,
      reason: "denied",
      rule: "login",
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(admit(policy)).toMatchObject({ allowed: true, remaining: 8 });
    expect(policy.explain({ ...facts, path: "/login" })).toMatchObject({
      reason: "denied",
      rule: "login",
      rules: [{ switch: "on" }, { switch: "deny" }],
    });
  });

  it("wins over off, whichever is about everything", () => {
    const policy = policyOf([{ id: "api", limit: perMinute(9) }]);
    policy.switch(undefined, "off");
    policy.switch("api", "deny");
    expect(admit(policy)).toMatchObject({ reason: "denied", rule: "api" });
    policy.switch(undefined, "deny");
    policy.switch("api", "off");
    expect(admit(policy)).toMatchObject({ reason: "denied", rule: undefined });
    expect(policy.switches).toEqual({ all: "deny", rules: [{ rule: "api", state: "off" }] });
    policy.switch(undefined, "on");
    policy.switch("api", "on");
    expect(admit(policy)).toMatchObject({ allowed: true, remaining: 8 });
  });

  it("stays over a replacement that leaves the rule out and one that brings it back", () => {
    const rules = [{ id: "api", limit: perMinute(9) }];
    const policy = policyOf(rules);
    policy.switch("api", "deny");
    policy.replace({ version: 1, rules: [{ id: "other", limit: perMinute(9) }] });
    expect(admit(policy).allowed).toBe(true);
    policy.replace({ version: 1, rules });
    expect(admit(policy).reason).toBe("denied");
  });

  it("waits for the identity where the rule matches by who the caller is", async () => {
    const policy = policyOf([
      { id: "pro", key: "global", match: { attributes: { tier: "pro" } }, limit: perMinute(9) },
    ]);
    policy.switch("pro", "deny");
    const identify = async () => ({ ...facts, tier: "pro" });
    expect(await policy.admit(facts, { identify })).toMatchObject({ reason: "denied" });
    expect(admit(policy).allowed).toBe(true);
  });

  it("can be set for all rules in one call, also for rules that are not in force", () => {
    const policy = policyOf([{ id: "api", limit: perMinute(9) }]);
    policy.switch("api", "off");
    policy.setSwitches({ all: "on", rules: [{ rule: "later", state: "deny" }] });
    expect(admit(policy)).toMatchObject({ allowed: true, remaining: 8 });
    policy.replace({ version: 1, rules: [{ id: "later", limit: perMinute(9) }] });
    expect(admit(policy).reason).toBe("denied");
  });

  it("is refused for an unknown rule or state", () => {
    const policy = policyOf([{ id: "api", limit: perMinute(9) }]);
    expect(() => policy.switch("nope", "deny")).toThrow("unknown rule");
    expect(() => policy.switch("api", "of" as never)).toThrow(
      'a switch is one of on, off, deny, got "of"',
    );
  });
});
