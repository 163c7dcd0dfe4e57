import { describe, expect, it } from "vitest";
import { ManualClock } from "../testing/manual-clock.js";
import {
  type AdaptivePermit,
  adaptiveConcurrency,
  type PermitOutcome,
} from "./adaptive-concurrency.js";
import type { AdaptiveOptions } from "./adaptive-options.js";
import type { Priority } from "./priority.js";

function setup(options: AdaptiveOptions = {}) {
  const clock = new ManualClock(5_000_000);
  const limit = adaptiveConcurrency({ clock, ...options });
  /** Keeps as many requests in flight as there is room for, each of which takes `latencyMs`, for a time. */
  const load = (durationMs: number, latencyMs: number) => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += latencyMs) {
      const permits: AdaptivePermit[] = [];
      for (let permit = limit.acquire(); permit.allowed; permit = limit.acquire())
        permits.push(permit);
      clock.advance(latencyMs);
      for (const permit of permits) permit.release("ok");
    }
  };
  const fill = (count: number, priority?: Priority) =>
    Array.from({ length: count }, () => limit.acquire({ priority: priority ?? "critical" }));
  return { clock, limit, load, fill };
}

describe("acquire and release", () => {
  it("admits as many as the limit, and one more once one has ended", () => {
    const { limit, fill } = setup({ min: 3, max: 3 });
    const permits = fill(3);
    expect(permits.every(({ allowed }) => allowed)).toBe(true);
    expect(limit.acquire().allowed).toBe(false);
    expect(limit.inFlight).toBe(3);
    permits[0].release("ok");
    expect(limit.acquire().allowed).toBe(true);
  });

  it("gives a place back once, however often it is released", () => {
    const { limit, fill } = setup({ min: 2, max: 2 });
    const [first] = fill(2);
    first.release("ok");
    first.release("ok");
    expect(limit.inFlight).toBe(1);
  });

  it("refuses an outcome that does not exist, gives the place back and learns nothing", () => {
    const { limit, clock, fill } = setup({ initial: 20 });
    for (const outcome of [undefined, "OK", "toString"] as unknown as PermitOutcome[]) {
      for (let i = 0; i < 100; i++) {
        const [permit] = fill(1);
        clock.advance(10);
        expect(() => permit.release(outcome)).toThrow("release: unknown outcome");
      }
    }
    expect(limit.stats()).toMatchObject({ limit: 20, inFlight: 0, latencyMs: undefined });
  });

  it("says when to try again, and holds nothing, if it refuses", () => {
    const { limit, fill } = setup({ min: 1, max: 1 });
    fill(1);
    const refused = limit.acquire();
    expect(refused.retryAfterMs).toBe(100);
    refused.release("ok");
    expect(limit.inFlight).toBe(1);
  });

  it("takes the place of a permit that was never released back after permitMs", () => {
    const { clock, limit, fill } = setup({ min: 1, max: 1, permitMs: 1_000 });
    const [lost] = fill(1);
    clock.advance(999);
    expect(limit.acquire().allowed).toBe(false);
    clock.advance(1);
    expect(limit.acquire().allowed).toBe(true);
    lost.release("ok");
    expect(limit.inFlight).toBe(1);
    expect(limit.stats().expired).toBe(1);
  });

  it("counts what was admitted and what was shed, by priority", () => {
    const { limit, fill } = setup({ min: 2, max: 2 });
    fill(3, "critical");
    fill(2, "low");
    expect(limit.stats()).toMatchObject({
      admitted: 2,
      shed: { critical: 1, high: 0, normal: 0, low: 2 },
      inFlight: 2,
      limit: 2,
    });
  });

  it("takes times as arguments", () => {
    const { limit } = setup({ min: 1, max: 1, permitMs: 1_000 });
    limit.acquire({ nowMs: 5_000_000 });
    expect(limit.acquire({ nowMs: 5_001_000 }).allowed).toBe(true);
  });

  it("refuses a priority that does not exist", () => {
    const { limit } = setup();
    for (const inherited of ["toString", "constructor", "__proto__"])
      expect(() => limit.acquire({ priority: inherited as Priority })).toThrow("unknown priority");
    expect(() => limit.acquire({ priority: "urgent" as Priority })).toThrow(
      'invalid option: acquire: unknown priority "urgent"',
    );
  });
});

describe("priorities", () => {
  it("shed the least important first: each fills only its share of the limit", () => {
    const { fill } = setup({ min: 10, max: 10 });
    const admitted = (priority: Priority) =>
      fill(10, priority).filter(({ allowed }) => allowed).length;
    expect(admitted("low")).toBe(5);
    expect(admitted("normal")).toBe(3);
    expect(admitted("high")).toBe(1);
    expect(admitted("critical")).toBe(1);
  });

  it("leave room for the most important however many others come", () => {
    const { limit, fill } = setup({ min: 20, max: 20 });
    fill(1_000, "low");
    fill(1_000, "normal");
    expect(limit.acquire({ priority: "critical" }).allowed).toBe(true);
  });

  it("have at least one place each", () => {
    const { limit } = setup({ min: 1, max: 1 });
    expect(limit.acquire({ priority: "low" }).allowed).toBe(true);
  });

  it("have the shares that are asked for", () => {
    const { fill } = setup({ min: 10, max: 10, shares: { low: 0.2 } });
    expect(fill(10, "low").filter(({ allowed }) => allowed).length).toBe(2);
  });
});

describe.each(["gradient", "aimd", "vegas"] as const)("%s", (algorithm) => {
  it("falls when latency rises and comes back when it is back", () => {
    const { limit, load } = setup({ algorithm, min: 5, max: 100, initial: 20 });
    load(3_000, 20);
    const before = limit.limit;
    expect(before).toBeGreaterThan(40);
    load(3_000, 200);
    expect(limit.limit).toBeLessThan(before);
    load(10_000, 20);
    expect(limit.limit).toBeGreaterThanOrEqual(before);
  });

  it("falls to min when everything fails, and never below", () => {
    const { clock, limit, fill } = setup({ algorithm, min: 5, max: 100 });
    for (let i = 0; i < 1_000; i++) {
      const permits = fill(limit.limit);
      clock.advance(20);
      for (const permit of permits) permit.release(i % 2 === 0 ? "timeout" : "dropped");
    }
    expect(limit.limit).toBe(5);
  });

  it("learns nothing from requests that are ignored", () => {
    const { clock, limit, fill } = setup({ algorithm, initial: 20 });
    for (let i = 0; i < 100; i++) {
      const permits = fill(20);
      clock.advance(50);
      for (const permit of permits) permit.release("ignored");
    }
    expect(limit.limit).toBe(20);
    expect(limit.stats().latencyMs).toBeUndefined();
  });

  it("does not grow while it is not used", () => {
    const { clock, limit } = setup({ algorithm, initial: 20 });
    for (let i = 0; i < 1_000; i++) {
      const permit = limit.acquire();
      clock.advance(10);
      permit.release("ok");
    }
    expect(limit.limit).toBe(20);
  });
});

describe("requests whose clients gave up", () => {
  const abandonAfter = (waitMs: number) => {
    const { clock, limit, load, fill } = setup({ min: 5, max: 100 });
    load(1_000, 20);
    const before = limit.limit;
    for (let i = 0; i < 100; i++) {
      const permits = fill(limit.limit);
      clock.advance(waitMs);
      for (const permit of permits) permit.release("abandoned");
    }
    return { before, after: limit.limit };
  };

  it("lower the limit if they had waited longer than requests take", () => {
    expect(abandonAfter(100).after).toBe(5);
  });

  it("say nothing if they had not: a client that only disconnects changes nothing for others", () => {
    const { before, after } = abandonAfter(1);
    expect(after).toBe(before);
  });
});

describe("a clock that is set back", () => {
  it("starts a new window and moves nothing", () => {
    const { clock, limit, load } = setup({ initial: 20 });
    load(1_000, 20);
    const before = limit.limit;
    const permit = limit.acquire();
    clock.advance(-60_000);
    permit.release("ok");
    expect(limit.limit).toBe(before);
    load(1_000, 20);
    expect(limit.limit).toBeGreaterThan(before);
  });
});

describe("options", () => {
  it.each([
    [{ algorithm: "newton" }, "algorithm must be one of gradient, aimd, vegas"],
    [{ min: 0 }, "min must be a whole number from 1 to 1000000, got 0"],
    [{ min: 10, max: 5 }, "min must be at most max, got 10 and 5"],
    [{ min: 10, max: 20, initial: 5 }, "initial must be from min (10) to max (20), got 5"],
    [{ windowMs: 1 }, "windowMs must be a whole number from 10 to 60000, got 1"],
    [{ shares: { low: 0.9 } }, "shares must not rise from high to normal to low"],
    [{ shares: { critical: 0.5 } }, "shares: unknown option"],
    [{ maximum: 5 }, "unknown option"],
    [{ clock: 5 }, "clock must have a function now()"],
  ])("%o: %s", (options, message) => {
    expect(() => adaptiveConcurrency(options as AdaptiveOptions)).toThrow(message);
  });

  it("have defaults within the bounds", () => {
    expect(adaptiveConcurrency().limit).toBe(20);
    expect(adaptiveConcurrency({ max: 8 }).limit).toBe(8);
    expect(adaptiveConcurrency({ min: 30 }).limit).toBe(30);
  });
});
