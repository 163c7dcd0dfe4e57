// `t` of the RateLimit header: when more quota is available, and never later than the window that the policy names.

import fc from "fast-check";
import { parseList } from "structured-headers";
import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf } from "../../../test/handler-stand.js";
import {
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";

const units = fc.integer({ min: 1, max: 40 });
const windows = fc.record({ limit: units, windowMs: fc.integer({ min: 1, max: 20_000 }) });
const rates = fc.integer({ min: 1, max: 1_000 }).map((n) => n / 20);

const kinds: Record<string, fc.Arbitrary<Limit>> = {
  "a fixed window": windows.map(fixedWindow),
  "a fixed window that starts with the first request": windows.map((window) =>
    fixedWindow({ ...window, align: "first" }),
  ),
  "a sliding counter": windows.map(slidingWindowCounter),
  "a sliding log": windows.map(slidingWindowLog),
  "a token bucket": fc
    .record({ capacity: units, refillPerSecond: rates })
    .map((bucket) => tokenBucket(bucket)),
  "a leaky bucket that meters": fc
    .record({ queueSize: units, ratePerSecond: rates })
    .map((bucket) => leakyBucket({ ...bucket, mode: "meter" })),
  "a leaky bucket that shapes": fc
    .record({ queueSize: units, ratePerSecond: rates })
    .map((bucket) => leakyBucket(bucket)),
  "a quota": units.map((limit) => quota({ limit, period: "day" })),
};

interface Shown {
  readonly q: number;
  readonly w: number | undefined;
  readonly r: number;
  readonly t: number | undefined;
}

/** What the two headers say of the only limit. */
function shownBy(fields: readonly string[]): Shown {
  const named = byName(fields);
  const read = (name: string) => Object.fromEntries(parseList(named[name])[0][1]);
  return { ...read("ratelimit-policy"), ...read("ratelimit") } as unknown as Shown;
}

/** What is left `t` seconds later: requests that pass then. */
function leftAfter(seconds: number, stand: ReturnType<typeof requestHandlerOf>): number {
  stand.clock.advance(seconds * 1_000);
  let left = 0;
  while (left <= 50 && stand.handle().refusal === undefined) left++;
  return left;
}

describe.each(Object.entries(kinds))("t of %s", (kind, limits) => {
  it("is within w, and at least one more unit is available then or the window is over", () => {
    const steps = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(limits, steps, (limit, waits) => {
        const stand = requestHandlerOf(
          [{ id: "r", limit }],
          {},
          { store: memoryStore({ keysMax: 8 }) },
        );
        let shown: Shown | undefined;
        for (const waitMs of waits) {
          stand.clock.advance(waitMs);
          const { fields, refusal } = stand.handle();
          shown = shownBy(fields);
          expect(shown.t).toBeLessThanOrEqual(shown.w ?? 1);
          const retryAfter = byName(refusal?.fields ?? [])["retry-after"];
          if (retryAfter !== undefined) expect(shown.t).toBeLessThanOrEqual(Number(retryAfter));
          if (refusal === undefined) expect(shown.t).toBeGreaterThanOrEqual(1);
        }
        const { r, t, w = 1 } = shown as Shown;
        const left = leftAfter(t as number, stand);
        // A counter whose units all came early in its window frees the next one only after that window.
        const isWindowOver = kind === "a sliding counter" && t === w;
        if (!isWindowOver) expect(left).toBeGreaterThan(r);
      }),
      { numRuns: 300, seed: 12 },
    );
  });
});

it("t of a bucket that was emptied is the time of the next unit, before and after it refuses", () => {
  const limit = tokenBucket({ capacity: 10, refillPerSecond: 0.5 });
  const { handle } = requestHandlerOf([{ id: "r", limit }]);
  for (let i = 0; i < 9; i++) handle();
  expect(shownBy(handle().fields)).toEqual({ q: 10, w: 20, r: 0, t: 2 });
  expect(shownBy(handle().fields)).toEqual({ q: 10, w: 20, r: 0, t: 2 });
});

it("X-RateLimit-Reset stays the time until the full quota is back", () => {
  const limit = slidingWindowCounter({ limit: 3, windowMs: 60_000 });
  const { handle } = requestHandlerOf([{ id: "r", limit }], { legacyHeaders: "delta" });
  const fields = byName(handle().fields);
  expect(fields.ratelimit).toBe('"r";r=2;t=60');
  expect(fields["x-ratelimit-reset"]).toBe("120");
});
