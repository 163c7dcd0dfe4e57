import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RemoteStore } from "../../../test/remote-store.js";
import { fixedWindow, slidingWindowLog, tokenBucket } from "../../limits/limits.js";
import { ManualClock } from "../../testing/manual-clock.js";
import type { Facts } from "../facts.js";
import { createPolicy } from "./create-policy.js";

// Time stands still, so a limit is a number of units and a model is a Map.
const LIMITS = {
  window: (limit: number) => fixedWindow({ limit, windowMs: 60_000 }),
  log: (limit: number) => slidingWindowLog({ limit, windowMs: 60_000 }),
  bucket: (capacity: number) => tokenBucket({ capacity, refillPerSecond: 1 }),
};

interface RandomRule {
  readonly consistency: "local" | "eventual" | "leased" | "strict";
  readonly key: "user" | "ip" | "global";
  readonly kind: keyof typeof LIMITS;
  readonly units: readonly number[];
  readonly path: string | undefined;
  readonly shadow: boolean;
  readonly isFlat: boolean;
}

interface RandomRequest {
  readonly user: string;
  readonly ip: string;
  readonly path: string;
  readonly cost: number;
  readonly isLate: boolean;
}

const someRules: fc.Arbitrary<RandomRule[]> = fc.array(
  fc.record({
    consistency: fc.constantFrom("local", "eventual", "leased", "strict"),
    key: fc.constantFrom("user", "ip", "global"),
    kind: fc.constantFrom("window", "log", "bucket"),
    units: fc.uniqueArray(fc.integer({ min: 3, max: 40 }), { minLength: 1, maxLength: 2 }),
    path: fc.constantFrom(undefined, "/a", "/b"),
    shadow: fc.boolean(),
    isFlat: fc.boolean(),
  }) as fc.Arbitrary<RandomRule>,
  { minLength: 1, maxLength: 6 },
);

const someRequests: fc.Arbitrary<RandomRequest[]> = fc.array(
  fc.record({
    user: fc.constantFrom("1", "2"),
    ip: fc.constantFrom("192.0.2.1", "192.0.2.2"),
    path: fc.constantFrom("/a", "/b"),
    cost: fc.integer({ min: 0, max: 3 }),
    isLate: fc.boolean(),
  }),
  { minLength: 20, maxLength: 120 },
);

function toFile(rules: readonly RandomRule[]): object {
  const toRule = (rule: RandomRule, i: number) => ({
    id: `r${i}`,
    consistency: rule.consistency,
    key: rule.key,
    limit: rule.units.map((units) => LIMITS[rule.kind](units)),
    onExceed: rule.shadow ? "shadow" : "reject",
    ...(rule.path === undefined ? {} : { match: { path: rule.path } }),
    ...(rule.isFlat ? {} : { cost: { header: "x-cost", min: 0, max: 3 } }),
  });
  return { version: 1, rules: rules.map(toRule) };
}

/** The same rules, kept by hand. */
class Model {
  readonly #used = new Map<string, number>();
  readonly #rules: readonly RandomRule[];

  constructor(rules: readonly RandomRule[]) {
    this.#rules = rules;
  }

  admit(request: RandomRequest): boolean {
    const charges = this.#rules.flatMap((rule, i) => {
      if (rule.path !== undefined && rule.path !== request.path) return [];
      const key = rule.key === "global" ? "" : request[rule.key];
      const cost = rule.isFlat ? 1 : request.cost;
      return rule.units.map((units, part) => {
        const name = `${i}/${part}/${key}`;
        const passes = (this.#used.get(name) ?? 0) + cost <= units;
        return { name, cost, passes, shadow: rule.shadow };
      });
    });
    const allowed = charges.every(({ passes, shadow }) => passes || shadow);
    for (const { name, cost, passes } of charges) {
      if (allowed && passes) this.#used.set(name, (this.#used.get(name) ?? 0) + cost);
    }
    return allowed;
  }

  used(name: string): number {
    return this.#used.get(name) ?? 0;
  }
}

function toFacts({ user, ip, path, cost }: RandomRequest): Facts {
  return { method: "GET", path, ip, user, headers: { "x-cost": String(cost) } };
}

describe("a policy", () => {
  it("decides any rules over any stores as a model does, and a refusal costs nothing anywhere", async () => {
    const run = async (rules: RandomRule[], requests: RandomRequest[], isRemote: boolean) => {
      const policy = createPolicy({
        rules: toFile(rules),
        clock: new ManualClock(0),
        ...(isRemote && { store: new RemoteStore() }),
      });
      const model = new Model(rules);
      for (const request of requests) {
        const known = toFacts(request);
        const decision = request.isLate
          ? await policy.admit({ ...known, user: undefined }, { identify: () => known })
          : await policy.admit(known);
        expect(decision.allowed).toBe(model.admit(request));
      }
      for (const request of requests.slice(-8)) {
        for (const { counter, verdict } of (await policy.peek(toFacts(request))).charges) {
          const { scope, part } = counter;
          const { key, consistency } = rules[Number(scope.slice(1))];
          const name = `${scope.slice(1)}/${part}/${key === "global" ? "" : request[key]}`;
          const used = verdict.limit - verdict.remaining;
          // Under leases what is left is a lower bound: a lease may be on its way.
          if (isRemote && consistency === "leased") {
            expect(used).toBeGreaterThanOrEqual(model.used(name));
          } else expect(used).toBe(model.used(name));
        }
      }
      await policy.close();
    };
    await fc.assert(fc.asyncProperty(someRules, someRequests, fc.boolean(), run), { numRuns: 120 });
  });
});
