import { describe, expect, it } from "vitest";
import { fixedWindow, type Limit, quota, tokenBucket } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { parseRules } from "../../parse/parse.js";
import { createPolicy } from "../create-policy.js";
import type { PolicyEvent } from "../policy-events.js";
import { KeySample, SampleBudget } from "./key-sample.js";

const DECISIONS = 25_000;

/** A random number from 0 to 1, the same in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What is reported of a rule whose keys are these, spread evenly over `forMs`. */
function eventsOf(
  toUser: (i: number) => string,
  limit: Limit,
  forMs: number,
  decisions = DECISIONS,
) {
  const events: PolicyEvent[] = [];
  const clock = new ManualClock(0);
  const rules = { version: 1, rules: [{ id: "a", key: "user", limit }] };
  const policy = createPolicy({ rules, clock, onEvent: (event) => events.push(event) });
  const run = () => {
    const startMs = clock.now();
    for (let i = 0; i < decisions; i++) {
      clock.set(startMs + Math.floor((i / decisions) * forMs));
      policy.admit({ method: "GET", path: "/", user: toUser(i) });
    }
  };
  run();
  return { events, policy, run };
}

const perSecond = fixedWindow({ limit: 1_000_000, windowMs: 1_000 });

describe("a rule whose keys never come back", () => {
  it("is reported once, and once more after other rules were put in force", () => {
    let next = 0;
    const { events, policy, run } = eventsOf(() => `request-${next++}`, perSecond, 60_000);
    run();
    expect(events).toEqual([{ kind: "useless-rule", rule: "a", keysSeen: 256, seenTwice: 0 }]);
    policy.replace(policy.rules);
    run();
    expect(events.map(({ kind }) => kind)).toEqual(["useless-rule", "replaced", "useless-rule"]);
  });

  it("is reported though some requests are sent again", () => {
    const sent = (i: number) => `request-${i % 500 === 1 ? i - 1 : i}`;
    expect(eventsOf(sent, perSecond, 60_000).events).toHaveLength(1);
  });

  it("is reported under a quota of a month too, after an hour", () => {
    const month = quota({ limit: 1_000, period: "month" });
    expect(eventsOf((i) => `r${i}`, month, 3_500_000).events).toEqual([]);
    expect(eventsOf((i) => `r${i}`, month, 3_900_000).events).toHaveLength(1);
  });

  it("is not reported if it refuses a request, which is what it is for", () => {
    const attacked = (i: number) => (i % 5 === 0 ? "attacker" : `client-${i}`);
    const limit = fixedWindow({ limit: 5, windowMs: 1_000 });
    expect(eventsOf(attacked, limit, 60_000).events).toEqual([]);
  });

  it("is not reported before 20,000 decisions, nor before its limit has recovered once", () => {
    expect(eventsOf((i) => `r${i}`, perSecond, 60_000, 19_000).events).toEqual([]);
    const slow = tokenBucket({ capacity: 600, refillPerSecond: 1 });
    expect(eventsOf((i) => `r${i}`, slow, 590_000).events).toEqual([]);
  });
});

describe("many rules whose keys never come back", () => {
  it("are watched one lot after another, 64 at a time", () => {
    const { rules } = parseRules({
      version: 1,
      rules: [{ id: "a", key: "user", limit: perSecond }],
    });
    const budget = new SampleBudget();
    const samples = Array.from({ length: 70 }, () => KeySample.of(rules[0], budget));
    const found = new Set<number>();
    let next = 0;
    const run = (decisions: number) => {
      for (let i = 0; i < decisions; i++) {
        next++;
        for (const [n, sample] of samples.entries()) {
          if (!found.has(n) && sample?.see(`request-${next}`, next)?.isUseless) found.add(n);
        }
      }
    };
    run(20_000);
    expect([found.size, found.has(63), found.has(64)]).toEqual([64, true, false]);
    run(19_001);
    expect(found.size).toBe(70);
  });
});

describe("a rule that can't be useless", () => {
  /** After how many decisions a rule with a limit of an hour is no longer watched. */
  function decisionsUntilFound(toKey: (i: number) => string, refuseFrom: number): number {
    const limit = fixedWindow({ limit: 5, windowMs: 3_600_000 });
    const { rules } = parseRules({ version: 1, rules: [{ id: "a", key: "user", limit }] });
    const sample = KeySample.of(rules[0], new SampleBudget());
    for (let i = 1; i <= 50_000; i++) {
      if (i >= refuseFrom) sample?.noteRefusal();
      const finding = sample?.see(toKey(i), i);
      if (finding !== undefined) return finding.isUseless ? -1 : i;
    }
    return 50_000;
  }

  it("is watched for 20,000 decisions and not for an hour if it has few keys", () => {
    expect(decisionsUntilFound((i) => `u${i % 100}`, Number.POSITIVE_INFINITY)).toBe(20_000);
    expect(decisionsUntilFound((i) => `r${i}`, Number.POSITIVE_INFINITY)).toBe(50_000);
  });

  it("is watched for 20,000 decisions if a tenth of its keys has come back by then", () => {
    const withTwins = (every: number) => (i: number) => `r${i % every === 0 ? i - 1 : i}`;
    expect(decisionsUntilFound(withTwins(8), Number.POSITIVE_INFINITY)).toBe(20_000);
    expect(decisionsUntilFound(withTwins(50), Number.POSITIVE_INFINITY)).toBe(50_000);
  });

  it("is watched until it refuses, but for 20,000 decisions at least", () => {
    expect(decisionsUntilFound((i) => `r${i}`, 100)).toBe(20_000);
    expect(decisionsUntilFound((i) => `r${i}`, 30_000)).toBe(30_000);
  });
});

describe("ordinary traffic is not reported", () => {
  it("of few users", () => {
    expect(eventsOf((i) => `u${i % 100}`, perSecond, 60_000).events).toEqual([]);
  });

  it("of many users of whom few are busy and most come rarely", () => {
    for (const seed of [1, 2, 3]) {
      const random = randomOf(seed);
      // Zipf over a million users: the n-th comes 1/n as often as the first.
      const zipf = () => `u${Math.floor(1_000_000 ** random())}`;
      expect(eventsOf(zipf, perSecond, 60_000).events).toEqual([]);
    }
  });

  it("of very many clients that come a few times a day under a long window", () => {
    const day = fixedWindow({ limit: 10, windowMs: 86_400_000 });
    for (const seed of [1, 2, 3]) {
      const random = randomOf(seed);
      // 25,000 requests in an hour, by 200,000 clients: three a day each.
      const client = () => `c${Math.floor(random() * 200_000)}`;
      expect(eventsOf(client, day, 3_900_000).events).toEqual([]);
    }
  });

  it("of clients that come back within the window but seldom within the hour that is watched", () => {
    const month = quota({ limit: 100, period: "month" });
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = randomOf(seed);
      // 25,000 requests in an hour, by 1,500,000 clients: a dozen a month each.
      const client = () => `c${Math.floor(random() * 1_500_000)}`;
      expect(eventsOf(client, month, 3_900_000).events).toEqual([]);
    }
  });

  it("of a rule that counts all callers together", () => {
    const events: PolicyEvent[] = [];
    const rules = { version: 1, rules: [{ id: "a", key: "global", limit: perSecond }] };
    const policy = createPolicy({ rules, onEvent: (event) => events.push(event) });
    for (let i = 0; i < DECISIONS; i++) policy.admit({ method: "GET", path: "/" });
    expect(events).toEqual([]);
  });
});
