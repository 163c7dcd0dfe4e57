import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "sluice";
import { parseRules } from "sluice/rules";
import { expect, it } from "vitest";
import { numbersOf } from "./limit-numbers.js";

it.each([
  tokenBucket({ capacity: 5, refill: { amount: 7, everyMs: 60_000 } }),
  leakyBucket({ ratePerSecond: 3, queueSize: 2 }),
  fixedWindow({ limit: 5, windowMs: 1_000, align: "key" }),
  slidingWindowCounter({ limit: 5, windowMs: 1_000 }),
  slidingWindowLog({ limit: 5, windowMs: 1_000 }),
  concurrency({ limit: 5, permitMs: 1_000 }),
  quota({ limit: 5, period: "day", timeZone: "Europe/Berlin" }),
])("says of a $algorithm what a file says to get the same limit", (limit) => {
  const written = { [limit.algorithm]: numbersOf(limit) };
  const { rules } = parseRules({ version: 1, rules: [{ id: "a", limit: written as never }] });
  expect(rules[0].limits).toEqual([limit]);
});
