import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseRules, RulesError } from "./parse.js";

const GOOD = {
  version: 1,
  ipv6Prefix: 56,
  exempt: { ips: ["10.0.0.0/8"], keys: ["user:1"] },
  rules: [
    {
      id: "login",
      match: { path: ["/login", "/v1/:id/*"], methods: "POST", host: "*.example.com" },
      key: ["body:username", "ip"],
      limit: ["5/minute", { tokenBucket: { capacity: 9, refill: { amount: 1, everyMs: "5m" } } }],
      when: { status: [401, "4xx"] },
      onMissing: "refuse",
    },
    {
      id: "api",
      match: { headers: { "x-plan": ["a", 2], "x-any": true }, attributes: { tier: "pro" } },
      key: "user",
      limit: { quota: { limit: 100, period: "month", anchor: 15, timeZone: "Europe/Paris" } },
      tiers: { pro: { concurrency: { limit: 3, permitMs: 1000 } }, root: "unlimited" },
      overrides: { "user:42": { leakyBucket: { ratePerSecond: 0.5, queueSize: 3 } } },
      cost: { header: "x-cost", max: 50 },
      settle: { header: "x-units" },
      rollout: 12.5,
    },
    {
      id: "shield",
      key: "global",
      limit: { fixedWindow: { limit: 5000, windowMs: "1s" } },
      consistency: "leased",
      shards: 8,
      timeoutMs: "50ms",
      cost: { methods: { GET: 1 }, otherwise: 2 },
    },
    {
      id: "slow",
      limit: { tokenBucket: { capacity: 5, refillPerSecond: 1 } },
      onExceed: "delay",
      delayMsMax: "2s",
    },
  ],
};

/** Nothing but rules or the one error may come out. */
function outcomeOf(source: string | object): "rules" | "error" {
  try {
    parseRules(source);
    return "rules";
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    expect(error.problems.length).toBeGreaterThan(0);
    for (const { line, column } of error.problems) {
      if (typeof source === "string" && line !== undefined) {
        expect(line).toBeLessThanOrEqual(source.split("\n").length);
        expect(column).toBeGreaterThan(0);
      }
    }
    return "error";
  }
}

const text = stringify(GOOD);

describe("parseRules", () => {
  it("takes the file that the mutations below start from", () => {
    expect(outcomeOf(text)).toBe("rules");
    expect(parseRules(text).version).toBe(parseRules(GOOD).version);
  });

  it("never fails with anything but its own error, whatever characters change", () => {
    const edit = fc.record({
      at: fc.nat(text.length),
      drop: fc.nat(12),
      put: fc.oneof(
        fc.constantFrom(
          "",
          ":",
          "- ",
          "\n",
          "&a ",
          "*a",
          "!x ",
          "{",
          "]",
          "#",
          "? ",
          "\t",
          "'",
          "|",
          "<<: ",
          "~",
          "-1",
          "1e999",
          ".nan",
          "__proto__: 1\n",
        ),
        fc.string({ maxLength: 5, unit: "binary" }),
      ),
    });
    const seen = { rules: 0, error: 0 };
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 4 }), (edits) => {
        let mutated = text;
        for (const { at, drop, put } of edits) {
          mutated = mutated.slice(0, at) + put + mutated.slice(at + drop);
        }
        seen[outcomeOf(mutated)] += 1;
      }),
      { numRuns: 400 },
    );
    expect(seen.error).toBeGreaterThan(0);
    expect(seen.rules).toBeGreaterThan(0);
  });

  it("never fails with anything but its own error, whatever value stands anywhere", () => {
    const paths = pathsOf(GOOD);
    const value = fc.oneof(
      fc.constantFrom(
        null,
        undefined,
        0,
        -1,
        1.5,
        Number.NaN,
        2 ** 60,
        "",
        "unlimited",
        "1/second",
        [],
        {},
        [[]],
        true,
        10n,
        Symbol("a"),
        () => 1,
      ),
      fc.anything({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...paths), value, (path, put) => {
        outcomeOf(withValue(GOOD, path, put) as object);
      }),
      { numRuns: 1_500 },
    );
  });

  it("reads any string at all to an answer", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60, unit: "binary" }), (any) => {
        expect(outcomeOf(any)).toBe("error");
      }),
      { numRuns: 300 },
    );
  });

  it("gives the same version whatever the order of fields", () => {
    const shuffle = (value: unknown, random: () => number): unknown => {
      if (Array.isArray(value)) return value.map((item) => shuffle(item, random));
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value).map(
        ([k, v]) => [random(), k, shuffle(v, random)] as const,
      );
      return Object.fromEntries(entries.sort((a, b) => a[0] - b[0]).map(([, k, v]) => [k, v]));
    };
    const { version } = parseRules(GOOD);
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (stream) => {
        const shuffled = shuffle(GOOD, () => stream.next().value as number);
        expect(parseRules(shuffled as object).version).toBe(version);
      }),
      { numRuns: 30 },
    );
  });
});

type Step = string | number;

function pathsOf(value: unknown, path: readonly Step[] = []): (readonly Step[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const steps: [Step, unknown][] = Array.isArray(value)
    ? value.map((item, i) => [i, item])
    : Object.entries(value);
  return [path, ...steps.flatMap(([step, item]) => pathsOf(item, [...path, step]))];
}

function withValue(value: unknown, [step, ...rest]: readonly Step[], put: unknown): unknown {
  if (step === undefined) return put;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    Step,
    unknown
  >;
  copy[step] = withValue(copy[step], rest, put);
  return copy;
}
