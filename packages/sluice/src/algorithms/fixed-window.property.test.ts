// Fixed windows and calendar quotas against a plain list of charges: what counts is every charge
// whose instant has the same label as now. For a window the label is a whole number by BigInt
// division; for a quota it is the date that Intl shows on the wall, or what follows from it. For
// windows aligned by key the oracle learns the border from the first answer and holds on to it.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { itKeepsEveryGuarantee, itRecoversFromStepBack } from "../../test/guarantees.js";
import {
  costOf,
  holds,
  ListOracle,
  later,
  limits,
  must,
  type Op,
  type Subject,
  startsMs,
  stringify,
  type Taken,
  traces,
  waitMsOf,
  walk,
  windowsMs,
} from "../../test/traces.js";
import { createLimiter } from "../limiter/limiter.js";
import { fixedWindow, quota } from "../limits/limits.js";
import { memoryStore } from "../stores/memory/memory-store.js";

type Label = (atMs: number) => string;

class LabelOracle extends ListOracle {
  readonly #limit: number;
  readonly #label: Label;

  constructor(limit: number, label: Label) {
    super();
    this.#limit = limit;
    this.#label = label;
  }

  admits(cost: number, nowMs: number): boolean {
    return this.#used(nowMs) + cost <= this.#limit;
  }

  grant(cost: number, nowMs: number): void {
    this.take(-Math.min(cost, this.#used(nowMs)), nowMs);
  }

  #used(nowMs: number): number {
    const now = this.#label(nowMs);
    return this.sum((atMs) => this.#label(atMs) === now);
  }
}

/** A window that starts with the first charge: what counts is every charge since, while it lasts. */
class FirstOracle extends ListOracle {
  readonly #limit: number;
  readonly #windowMs: number;
  #startMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, windowMs: number) {
    super();
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  admits(cost: number, nowMs: number): boolean {
    return this.#used(nowMs) + cost <= this.#limit;
  }

  override take(cost: number, nowMs: number): Taken {
    if (this.#used(nowMs) === 0) {
      this.charges = [];
      this.#startMs = nowMs;
    }
    return super.take(cost, nowMs);
  }

  grant(cost: number, nowMs: number): void {
    const used = this.#used(nowMs);
    if (used > 0) super.take(-Math.min(cost, used), nowMs);
  }

  #used(nowMs: number): number {
    if (nowMs >= this.#startMs + this.#windowMs) return 0;
    return this.sum(() => true);
  }
}

const firstWindows: fc.Arbitrary<Subject> = fc
  .tuple(limits, windowsMs, startsMs)
  .map(([limit, windowMs, startMs]) => ({
    limit: fixedWindow({ limit, windowMs, align: "first" }),
    oracle: () => new FirstOracle(limit, windowMs),
    startMs,
    borderMs: windowMs,
  }));

const fixedWindows: fc.Arbitrary<Subject> = fc
  .tuple(limits, windowsMs, startsMs)
  .map(([limit, windowMs, startMs]) => {
    const label = (atMs: number) => String(BigInt(atMs) / BigInt(windowMs));
    return {
      limit: fixedWindow({ limit, windowMs }),
      oracle: () => new LabelOracle(limit, label),
      startMs,
      borderMs: windowMs,
    };
  });

const DAY_MS = 86_400_000;
// Zones whose clocks never go back over midnight, so that a date on the wall is one day.
const zones = ["UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"];
const shows = new Map(
  zones.map((timeZone) => [timeZone, new Intl.DateTimeFormat("en-CA", { timeZone })]),
);

const labels = {
  day: (date: string) => date,
  // Days since a Monday, in sevens.
  week: (date: string) =>
    String(Math.floor((Date.parse(date) - Date.UTC(1969, 11, 29)) / DAY_MS / 7)),
  month: (date: string) => date.slice(0, 7),
};

function labelOf(period: keyof typeof labels, timeZone: string): Label {
  const shown = new Map<number, string>();
  return (atMs) => {
    const known = shown.get(atMs);
    if (known !== undefined) return known;
    const label = labels[period](shows.get(timeZone)?.format(atMs) ?? "");
    shown.set(atMs, label);
    return label;
  };
}

const periods = fc.constantFrom("day" as const, "week" as const, "month" as const);
const quotas: fc.Arbitrary<Subject> = fc
  .tuple(limits, periods, fc.constantFrom(...zones), startsMs)
  .map(([limit, period, timeZone, startMs]) => ({
    limit: quota({ limit, period, timeZone }),
    oracle: () => new LabelOracle(limit, labelOf(period, timeZone)),
    startMs,
    borderMs: DAY_MS,
  }));

const kinds: readonly [string, fc.Arbitrary<Subject>, number, number][] = [
  ["a fixed window", fixedWindows, 40, 4_000],
  ["a window that starts with the first request", firstWindows, 40, 7_000],
  ["a calendar quota", quotas, 12, 5_000],
];

describe.each(kinds)("%s", (_name, subjects, opsMax, seed) => {
  const runs = fc.tuple(subjects, traces(opsMax));
  const verbs = { grant: true, refund: true };
  itKeepsEveryGuarantee({ subjects, seed, verbs, opsMax, windowStays: subjects === firstWindows });

  itRecoversFromStepBack({ subjects, seed, opsMax });

  it("never admits more than the limit between two borders", () => {
    holds(seed + 10, runs, ([subject, ops]) => {
      let endMs = 0;
      let admitted = 0;
      walk(subject, ops, ({ step, cost, nowMs, limit }) => {
        if (nowMs >= endMs) admitted = 0;
        if (!step.allowed || cost === 0) return;
        endMs = nowMs + step.resetMs;
        admitted += cost;
        must(admitted <= limit.capacity, () => stringify({ limit, cost, nowMs, step, admitted }));
      });
    });
  });
});

describe("a window that starts with the first request", () => {
  it("stays where it is when the charge that opened it is refunded", () => {
    const limit = fixedWindow({ limit: 2, windowMs: 1_000, align: "first" });
    const limiter = createLimiter({ limit, store: memoryStore({ keysMax: 16 }) });
    const opened = limiter.reserve("key", { nowMs: 0 });
    limiter.check("key", { nowMs: 400 });
    opened.cancel({ nowMs: 500 });
    expect(limiter.peek("key", { nowMs: 500 })).toMatchObject({ remaining: 1, resetMs: 500 });
  });

  it("ends when all of it is refunded, and the next request starts a new one", () => {
    const limit = fixedWindow({ limit: 2, windowMs: 1_000, align: "first" });
    const limiter = createLimiter({ limit, store: memoryStore({ keysMax: 16 }) });
    limiter.check("key", { nowMs: 0 });
    limiter.refund("key", 1, { nowMs: 400 });
    expect(limiter.check("key", { nowMs: 500 })).toMatchObject({ remaining: 1, resetMs: 1_000 });
  });
});

describe("a fixed window aligned by key", () => {
  const keys = fc.string({ minLength: 1, maxLength: 12 });
  const subjects = fc.tuple(limits, windowsMs, startsMs, keys);
  const runs = fc.tuple(subjects, traces());

  function walkKey(
    [[limit, windowMs, startMs, key], ops]: readonly [
      readonly [number, number, number, string],
      readonly Op[],
    ],
    visit: (seen: { nowMs: number; cost: number; said: unknown; expected: unknown }) => void,
  ): void {
    const limiter = createLimiter({
      limit: fixedWindow({ limit, windowMs, align: "key" }),
      store: memoryStore({ keysMax: 16 }),
    });
    const first = limiter.check(key, { nowMs: startMs });
    const borderMs = startMs + first.resetMs;
    const countOf = (atMs: number) => Math.floor((atMs - borderMs) / windowMs);
    const oracle = new LabelOracle(limit, (atMs) => String(countOf(atMs)));
    oracle.take(1, startMs);
    let nowMs = startMs;
    for (const op of ops) {
      const untilMs = borderMs + (countOf(nowMs) + 1) * windowMs - nowMs;
      nowMs = later(
        nowMs,
        waitMsOf(op, { retryMs: untilMs, recoveryMs: windowMs, borderMs: untilMs }),
      );
      const endMs = borderMs + (countOf(nowMs) + 1) * windowMs;
      const cost = costOf(op, limit);
      const allowed = oracle.admits(cost, nowMs);
      if (allowed) oracle.take(cost, nowMs);
      const { allowed: isAllowed, retryAfterMs, resetMs } = limiter.check(key, { cost, nowMs });
      const waitMs = cost > limit ? Number.POSITIVE_INFINITY : endMs - nowMs;
      const expected = {
        allowed,
        retryAfterMs: allowed ? 0 : waitMs,
        resetMs: oracle.admits(limit, nowMs) ? 0 : endMs - nowMs,
      };
      visit({ nowMs, cost, said: { allowed: isAllowed, retryAfterMs, resetMs }, expected });
    }
  }

  it("admits up to the limit in every window of its key, with exact times", () => {
    holds(6_001, runs, (run) =>
      walkKey(run, (seen) =>
        must(stringify(seen.said) === stringify(seen.expected), () =>
          stringify({ subject: run[0], ...seen }),
        ),
      ),
    );
  });

  it("has its first border within one window", () => {
    holds(6_002, subjects, ([limit, windowMs, startMs, key]) => {
      const limiter = createLimiter({
        limit: fixedWindow({ limit, windowMs, align: "key" }),
        store: memoryStore({ keysMax: 16 }),
      });
      const { resetMs } = limiter.check(key, { nowMs: startMs });
      must(resetMs >= 1 && resetMs <= windowMs, () =>
        stringify({ windowMs, startMs, key, resetMs }),
      );
    });
  });

  it("does not reset every key at the same time", () => {
    const limiter = createLimiter({
      limit: fixedWindow({ limit: 1, windowMs: 60_000, align: "key" }),
    });
    const ends = new Set<number>();
    for (let id = 0; id < 1_000; id++) ends.add(limiter.check(`user:${id}`, { nowMs: 0 }).resetMs);
    expect(ends.size).toBeGreaterThan(900);
  });
});
