import { describe, expect, it, vi } from "vitest";
import { diffRules } from "./diff.js";
import { type RuleException, withExceptions, withExceptionsInSlices } from "./exceptions.js";
import { parseRules } from "./parse/parse.js";
import { ExceptionsInForce } from "./policy/compile/exceptions-in-force.js";
import { createPolicy } from "./policy/create-policy.js";

const rules = parseRules({
  version: 1,
  rules: [
    { id: "login", key: "ip", limit: "5/minute" },
    { id: "api", key: "tenant", limit: "200/minute" },
  ],
});
const acme: RuleException = { ruleId: "api", by: "tenant", value: "acme", limits: "500/minute" };

describe("withExceptions", () => {
  it("gives other rules another version, the same for the same exceptions, and none back their own", () => {
    const once = withExceptions(rules, [acme]);
    expect(once.version).toMatch(/^[0-9a-f]{12}$/);
    expect(once.version).not.toBe(rules.version);
    expect(once.versionOfRules).toBe(rules.version);
    expect(withExceptions(rules, [{ ...acme }]).version).toBe(once.version);
    expect(withExceptions(rules, [{ ...acme, endsAtMs: 9 }]).version).not.toBe(once.version);
    expect(withExceptions(rules, [])).toBe(rules);
    expect(withExceptions(once, [])).toEqual(rules);
    expect(withExceptions(once, [acme])).toEqual(once);
  });

  it("leaves rules without exceptions as they are", () => {
    const { rules: list } = withExceptions(rules, [acme]);
    expect(list[0]).toBe(rules.rules[0]);
    expect(list[1].exceptions?.get("tenant")?.get("acme")).toHaveLength(1);
  });

  it("reports every exception that can't be used, with what was seen", () => {
    const given = [
      { ...acme, ruleId: "apj" },
      { ...acme, by: "team" },
      { ...acme, value: " " },
      { ...acme, endsAtMs: -1 },
      { ...acme, limits: "ten/minute" },
      { ...acme, limits: { tokenBucket: { capacity: 0, refillPerSecond: 1 } } },
      { ...acme, limits: ["5/minute", "5/minute"] },
    ] as RuleException[];
    const problems = () => withExceptions(rules, given);
    for (const message of [
      'exceptions[0].ruleId is "apj", which is not a rule of the set; did you mean "api"?',
      'exceptions[1].by must be one of apiKey, user, tenant, plan, got "team"',
      'exceptions[2].value must be a string of 1 to 256 characters, got " "',
      "exceptions[3].endsAtMs must be milliseconds since 1970",
      'rule "api": exceptions["tenant:acme"] must be a rate such as 100/minute',
      'rule "api": exceptions["tenant:acme"].tokenBucket.capacity',
      'rule "api": exceptions["tenant:acme"] holds the same limit twice',
    ]) {
      expect(problems).toThrow(message);
    }
    expect(problems).toThrow("7 problems");
  });

  it("leaves out exceptions of rules that are not in the set, if asked to", () => {
    const given = [{ ...acme, ruleId: "gone" }, acme];
    expect(withExceptions(rules, given, { unknownRules: "ignore" })).toEqual(
      withExceptions(rules, [acme]),
    );
  });
});

describe("the difference between rules", () => {
  it("names exceptions that come, go and change, and what becomes of what was used", () => {
    const before = withExceptions(rules, [
      acme,
      { ...acme, value: "kept" },
      { ...acme, ruleId: "login" },
    ]);
    const after = withExceptions(rules, [
      { ...acme, limits: "900/minute" },
      { ...acme, value: "kept" },
      { ...acme, by: "plan", value: "gold" },
    ]);
    const { changed } = diffRules(before, after);
    expect(changed).toEqual([
      {
        id: "login",
        fields: ["exceptions"],
        counters: "empty",
        limits: [
          {
            where: "exceptions.tenant:acme",
            fate: "empty",
            why: "counted apart now, or no more",
          },
        ],
      },
      {
        id: "api",
        fields: ["exceptions"],
        counters: "carried",
        limits: [
          { where: "exceptions.tenant:acme", fate: "carried", why: "other numbers" },
          { where: "exceptions.plan:gold", fate: "carried", why: "other numbers" },
        ],
      },
    ]);
  });
});

describe("tens of thousands of exceptions of one rule", () => {
  const many = Array.from({ length: 30_000 }, (_, n) => ({ ...acme, value: `tenant-${n}` }));

  it("are added in slices, between which others have their turn, with the same result", async () => {
    let [turns, isDone] = [0, false];
    const adding = withExceptionsInSlices(rules, many).finally(() => {
      isDone = true;
    });
    for (; !isDone; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
    expect(turns).toBeGreaterThan(3);
    const added = await adding;
    expect(added).toEqual(withExceptions(rules, many));
    expect(withExceptions(rules, many.toReversed()).version).toBe(added.version);
  });

  it("that can't be used are reported as when they are added in one go", async () => {
    const broken = [...many, { ...acme, limits: "ten/minute" }];
    const seen = (() => {
      try {
        return withExceptions(rules, broken);
      } catch (error) {
        return error;
      }
    })();
    expect(seen).toBeInstanceOf(Error);
    await expect(withExceptionsInSlices(rules, broken)).rejects.toEqual(seen);
  });

  it("are compiled in many steps", () => {
    const policy = createPolicy({ rules: withExceptions(rules, many) });
    const compiled = vi.spyOn(ExceptionsInForce, "make");
    policy.replace(withExceptions(rules, many.slice(1)));
    const [{ value: steps }] = compiled.mock.results;
    // It has run to its end; another one of the same shows its steps.
    expect([...steps]).toEqual([]);
    const [args] = compiled.mock.calls;
    expect([...ExceptionsInForce.make(...args)].length).toBeGreaterThan(many.length / 100);
    policy.close();
  });
});
