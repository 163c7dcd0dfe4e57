import { describe, expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.js";
import { RulesError } from "../parse/parse.js";
import { createPolicy } from "./create-policy.js";
import type { Policy } from "./policy.js";
import type { PolicyEvent } from "./policy-events.js";
import type { PolicyDecision } from "./policy-request/policy-decision.js";

const facts = { method: "GET", path: "/a", ip: "10.0.0.1" };
const rule = (id: string, limit: number) => ({ id, limit: `${limit}/minute` });
const file = (...rules: readonly object[]) => ({ version: 1, rules });
const admit = (policy: Policy) => policy.admit(facts) as PolicyDecision;
const remaining = (policy: Policy) => (policy.peek(facts) as PolicyDecision).remaining;

const SWITCHED = [
  { rule: "a", state: "off" },
  { rule: "b", state: "deny" },
] as const;

function stand() {
  const events: PolicyEvent[] = [];
  const onEvent = (event: PolicyEvent) => events.push(event);
  const policy = createPolicy({
    rules: file(rule("a", 5)),
    clock: new ManualClock(1e12),
    onEvent,
  });
  return { policy, events };
}

describe("prepare", () => {
  it("changes nothing until the rules are put in force, and then keeps what was used", async () => {
    const { policy, events } = stand();
    admit(policy);
    const { version } = policy;
    const prepared = await policy.prepare(file(rule("a", 10)));
    expect(policy.version).toBe(version);
    expect(remaining(policy)).toBe(4);
    policy.replace(prepared);
    expect(policy.version).toBe(prepared.ruleSet.version);
    expect(remaining(policy)).toBe(9);
    expect(events).toMatchObject([{ kind: "replaced", from: version, to: policy.version }]);
  });

  it("lets other work have its turn while ten thousand rules are made ready", async () => {
    const { policy } = stand();
    admit(policy);
    const rules = Array.from({ length: 10_000 }, (_, n) => ({
      ...rule(`r${n}`, 5),
      match: { path: `/v1/${n}/*` },
    }));
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const prepared = await policy.prepare(file(...rules));
    isOver = true;
    // In one go there would be two.
    expect(turns).toBeGreaterThan(5);
    policy.replace(prepared);
    expect(policy.rules.rules).toHaveLength(10_000);
    expect(admit(policy).allowed).toBe(true);
  });

  it("puts switches in force with the rules, and reports no other rules if only they differ", async () => {
    const { policy, events } = stand();
    const switches = { all: "on", rules: [{ rule: "a", state: "deny" }] } as const;
    const prepared = await policy.prepare(policy.rules, switches);
    expect(admit(policy).allowed).toBe(true);
    policy.replace(prepared);
    expect(admit(policy).allowed).toBe(false);
    expect(policy.switches).toEqual(switches);
    expect(events).toEqual([]);
  });

  it("holds to a switch and to what was counted while rules were made ready", async () => {
    const { policy } = stand();
    const preparing = policy.prepare(file(rule("a", 10), rule("b", 20)));
    policy.switch("a", "off");
    const prepared = await preparing;
    policy.replace(file(rule("a", 7)));
    policy.setSwitches({ all: "on", rules: SWITCHED });
    policy.replace(prepared);
    expect(policy.ruleOf("b")).toBeDefined();
    expect(policy.switches.rules).toEqual(SWITCHED);
    expect(admit(policy).allowed).toBe(false);
  });

  it("rejects rules that the policy can't use, and puts what another policy made in force too", async () => {
    const { policy } = stand();
    const bad = file({ ...rule("a", 5), cost: { function: "missing" } });
    await expect(policy.prepare(bad)).rejects.toThrow(RulesError);
    const prepared = await stand().policy.prepare(file(rule("a", 9)));
    policy.replace(prepared);
    expect(remaining(policy)).toBe(9);
  });
});
