import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../test/remote-store.js";
import { fixedWindow, slidingWindowLog, tokenBucket } from "../../limits/limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { Facts } from "../facts.js";
import { RulesError } from "../parse/parse.js";
import { createPolicy } from "./create-policy.js";
import type { Policy } from "./policy.js";
import type { PolicyEvent } from "./policy-events.js";
import type { PolicyDecision } from "./policy-request/policy-decision.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10" };
const perMinute = (limit: number) => fixedWindow({ limit, windowMs: 60_000 });
const file = (...rules: object[]) => ({ version: 1, rules });

function stand(...rules: object[]) {
  const clock = new ManualClock(0);
  const events: PolicyEvent[] = [];
  const onEvent = (event: PolicyEvent) => events.push(event);
  return { clock, events, policy: createPolicy({ rules: file(...rules), clock, onEvent }) };
}

const admit = (policy: Policy) => policy.admit(facts) as PolicyDecision;
const remaining = (policy: Policy) => (policy.peek(facts) as PolicyDecision).remaining;

describe("replace", () => {
  it("refills no key when nothing changed, and says which versions it went from and to", () => {
    const { policy, events } = stand({ id: "a", limit: perMinute(5) });
    const { version } = policy;
    for (let i = 0; i < 4; i++) admit(policy);
    policy.replace(file({ id: "a", limit: perMinute(5) }));
    expect(remaining(policy)).toBe(1);
    expect(events).toMatchObject([{ kind: "replaced", from: version, to: version }]);
    policy.replace(file({ id: "a", limit: perMinute(6) }, { id: "b", limit: perMinute(6) }));
    expect(events[1]).toMatchObject({
      kind: "replaced",
      from: version,
      to: policy.version,
    });
    const [, replaced] = events;
    expect(replaced.kind === "replaced" && replaced.diff()).toMatchObject({
      added: ["b"],
      removed: [],
      changed: [{ id: "a", counters: "carried" }],
    });
  });

  it("refuses parsed rules that went through JSON, and holes in lists, as rules that can't be used", () => {
    const { policy } = stand({ id: "a", limit: perMinute(5) });
    const before = policy.rules;
    const holes = {
      version: 1,
      rules: [
        { id: "a", limit: new Array(2) },
        { id: "b", match: { path: new Array(2) }, limit: "5/minute" },
      ],
    };
    for (const bad of [JSON.parse(JSON.stringify(before)), holes]) {
      expect(() => policy.replace(bad)).toThrow(RulesError);
    }
    expect(policy.rules).toBe(before);
  });

  it("keeps the very counters of limits that stay, so that nothing is looked up again", () => {
    const { policy } = stand({ id: "a", limit: perMinute(5) }, { id: "b", limit: perMinute(5) });
    const counters = () =>
      (policy.peek(facts) as PolicyDecision).charges.map(({ counter }) => counter);
    const [a, b] = counters();
    policy.replace(file({ id: "a", limit: perMinute(5) }, { id: "b", limit: perMinute(6) }));
    expect(counters()[0]).toBe(a);
    expect(counters()[1]).not.toBe(b);
  });

  it("keeps what was used under other numbers, clipped to the new limit", () => {
    const { policy } = stand({ id: "a", limit: perMinute(10) });
    for (let i = 0; i < 6; i++) admit(policy);
    policy.replace(file({ id: "a", limit: perMinute(20) }));
    expect(remaining(policy)).toBe(14);
    policy.replace(file({ id: "a", limit: perMinute(4) }));
    expect(remaining(policy)).toBe(0);
    policy.replace(file({ id: "a", limit: perMinute(10) }));
    expect(remaining(policy)).toBe(6);
  });

  it("starts another algorithm and another rule empty, and finds an old one again", () => {
    const { policy } = stand({ id: "a", limit: perMinute(10) });
    for (let i = 0; i < 6; i++) admit(policy);
    policy.replace(file({ id: "a", limit: slidingWindowLog({ limit: 10, windowMs: 60_000 }) }));
    expect(remaining(policy)).toBe(10);
    policy.replace(file({ id: "b", limit: perMinute(10) }));
    expect(remaining(policy)).toBe(10);
    policy.replace(file({ id: "a", limit: perMinute(10) }));
    expect(remaining(policy)).toBe(4);
  });

  it("changes nothing by bad rules, and throws what is wrong with them", () => {
    const { policy, events } = stand({ id: "a", limit: perMinute(5) });
    admit(policy);
    const { version } = policy;
    expect(() => policy.replace("version: 1\nrules: [{ id: a, limit: ten }]")).toThrow(/"ten"/);
    expect(() => policy.replace(undefined as never)).toThrow(/rules must be/);
    expect([policy.version, remaining(policy), events.length]).toEqual([version, 4, 0]);
  });

  it("lets requests that are under way end by the rules that they began with", async () => {
    const { policy } = stand(
      { id: "ip", limit: perMinute(5) },
      { id: "user", key: "user", limit: perMinute(5) },
    );
    const { version } = policy;
    let found: (known: Facts) => void = () => {};
    const identify = () => new Promise<Facts>((resolve) => (found = resolve));
    const decision = policy.admit(facts, { identify });
    policy.replace(file({ id: "ip", limit: perMinute(5) }));
    found({ ...facts, user: "42" });
    const { results, version: decidedBy } = await decision;
    expect([decidedBy, results.length]).toEqual([version, 2]);
    expect(remaining(policy)).toBe(4);
  });

  it("a thousand times under load neither refills nor loses a unit", async () => {
    for (const store of [undefined, new RemoteStore()]) {
      const clock = new ManualClock(0);
      const rules = (i: number) =>
        file(
          { id: "window", limit: perMinute(600) },
          {
            id: "bucket",
            limit: tokenBucket({ capacity: 700, refill: { amount: 1, everyMs: 3_600_000 } }),
          },
          { id: "changing", key: "global", limit: perMinute(10_000 + (i % 5)) },
          ...(i % 2 === 0 ? [{ id: "now-and-then", limit: perMinute(5_000) }] : []),
        );
      const policy = createPolicy({ rules: rules(0), clock, ...(store && { store }) });
      let passed = 0;
      for (let i = 1; i <= 1_000; i++) {
        const decision = policy.admit(facts);
        policy.replace(rules(i));
        if ((await decision).allowed) passed++;
      }
      expect(passed).toBe(600);
      const { results } = await policy.peek(facts);
      expect(results.slice(0, 3).map(({ verdict }) => verdict.limit - verdict.remaining)).toEqual([
        600, 600, 600,
      ]);
    }
  });
});
