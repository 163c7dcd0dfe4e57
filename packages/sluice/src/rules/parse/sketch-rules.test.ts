// Rules whose limit is a sketch: how they are read, where they are counted, and what does not go together with them.

import { describe, expect, it } from "vitest";
import { memoryStore } from "../../stores/memory/memory-store.js";
import { ManualClock } from "../../testing/manual-clock.js";
import { createPolicy } from "../policy/create-policy.js";
import { parseRules } from "./parse.js";
import { RulesError } from "./problems.js";

const rule = (fields: object = {}) => ({
  version: 1 as const,
  rules: [
    {
      id: "flood",
      key: "ip",
      limit: { sketch: { limit: 3, windowMs: "1m", errorShare: 0.0001 } },
      ...fields,
    },
  ],
});

function problemsOf(fields: object): readonly string[] {
  try {
    parseRules(rule(fields));
  } catch (error) {
    if (error instanceof RulesError) return error.problems.map(({ message }) => message);
    throw error;
  }
  return [];
}

describe("a rule with a sketch", () => {
  it("is local unless it says otherwise, with every default filled in", () => {
    const [parsed] = parseRules(rule()).rules;
    expect(parsed?.consistency).toBe("local");
    expect(parsed?.limits[0]).toMatchObject({
      algorithm: "sketch",
      capacity: 3,
      windowMs: 60_000,
      errorShare: 0.0001,
      confidence: 0.99,
      exactKeysMax: 10_000,
    });
  });

  it("is local if only a tier is a sketch", () => {
    const tiers = { free: { sketch: { limit: 5, windowMs: "1m" } } };
    expect(parseRules(rule({ limit: "10/minute", tiers })).rules[0]?.consistency).toBe("local");
    expect(parseRules(rule({ limit: "10/minute" })).rules[0]?.consistency).toBe("strict");
  });

  it.each([
    [
      { consistency: "strict" },
      'rule "flood": consistency is strict, but a sketch is counted in this process; use local, or another kind of limit',
    ],
    [
      { consistency: "leased" },
      'rule "flood": consistency is leased, but a sketch is counted in this process; use local, or another kind of limit',
    ],
    [
      { key: "global", shards: 2 },
      'rule "flood": shards can\'t split a sketch, which takes any number of keys',
    ],
    [
      {
        limit: "5/minute",
        overrides: { "ip:203.0.113.7": { sketch: { limit: 5, windowMs: "1m" } } },
      },
      'rule "flood": overrides["ip:203.0.113.7"] is a sketch, which counts many keys; use a fixedWindow for a single one',
    ],
    [
      { limit: { sketch: { limit: 5, windowMs: "1m", errorShare: 1e-9 } } },
      'rule "flood": limit.sketch needs 18173 MB, more than 1074, for errorShare 1e-9 with confidence 0.99',
    ],
    [
      { limit: { sketch: { limit: 5, windowMs: "1m", confidence: 2 } } },
      'rule "flood": limit.sketch.confidence must be a number from 0.5 to 0.999999, got 2',
    ],
  ])("is refused with %j", (fields, problem) => {
    expect(problemsOf(fields)).toContain(problem);
  });

  it("is decided by a policy, together with exact rules, all or nothing", async () => {
    const clock = new ManualClock(60_000_000);
    const exact = { id: "exact", key: "global", limit: "4/minute" };
    const rules = { version: 1 as const, rules: [...rule().rules, exact] };
    const store = memoryStore();
    const policy = createPolicy({ rules: parseRules(rules), store, clock });
    const ask = async (ip: string) =>
      (await policy.admit({ method: "GET", path: "/", ip })).allowed;
    const answers = [];
    for (const ip of ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]) {
      answers.push(await ask(ip));
    }
    expect(answers).toEqual([true, true, true, false, true]);
    expect(await ask("192.0.2.2")).toBe(false);
    expect(store.stats.sketches).toMatchObject([{ scope: "flood", part: 0, units: 4 }]);
    await policy.close();
  });

  it("is counted in this process over a shared store too, and shown in the policy's figures", async () => {
    const shared = Object.assign(memoryStore(), { isRemote: true });
    const policy = createPolicy({
      rules: parseRules(rule()),
      store: shared,
      clock: new ManualClock(60_000_000),
    });
    await policy.admit({ method: "GET", path: "/", ip: "192.0.2.1" });
    expect(policy.stats.local?.sketches).toMatchObject([{ scope: "flood", units: 1 }]);
    expect(shared.stats.sketches).toEqual([]);
    await policy.close();
  });
});
