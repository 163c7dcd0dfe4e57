// The conformance kit over leases: as users have them by default, and with keys that are leased from
// their second request on, so that every claim meets leases.

import { describe, expect, it } from "vitest";
import { toTest } from "../../test/conformance-test.js";
import { storeConformance } from "../testing/store-conformance.js";
import type { LeasedOptions } from "./leased/lease-options.js";
import { leased } from "./leased/leased.js";
import { memoryStore } from "./memory/memory-store.js";

const NOT_LEASABLE = "permits and the places of a queue can't be leased";
const STRETCHED = "under leases the entries of a log count for a little longer than its window";
const LOWER_BOUND = "what remains under leases is a lower bound, and what is leased counts as used";

/** What leases promise otherwise, by the names of cases. */
const always: readonly (readonly [name: RegExp, reason: string])[] = [
  [/shape|concurrency|permit|acquire/, NOT_LEASABLE],
  [/debit.*(in their order|at the same time)|briefly.*several limits yield/, NOT_LEASABLE],
  [/^the step tables hold: .*sliding log/, STRETCHED],
  [/^random traces/, LOWER_BOUND],
];
const whenLeased: typeof always = [
  ...always,
  [/^the step tables hold/, LOWER_BOUND],
  [/old numbers, still in use$/, "leases under other numbers stay out for up to leaseMs"],
];

describe("a leased memory store keeps the contract", () => {
  runAll({}, always);
});

describe("a leased memory store keeps the contract while every key is leased", () => {
  runAll({ warmAfter: 1, holders: 1 }, whenLeased);
});

function runAll(options: LeasedOptions, skips: typeof always): void {
  const createStore = storeConformanceOf(options);
  const skip: Record<string, string> = {};
  for (const { name } of storeConformance({ createStore })) {
    const reason = skips.find(([pattern]) => pattern.test(name))?.[1];
    if (reason !== undefined) skip[name] = reason;
  }
  const cases = storeConformance({ createStore, skip });
  for (const each of cases) it(each.name, toTest(each));
  it("skips fewer cases than it runs", () => {
    expect(Object.keys(skip).length).toBeLessThan(cases.length / 2);
  });
}

function storeConformanceOf(options: LeasedOptions) {
  return (clock: NonNullable<LeasedOptions["clock"]>) =>
    leased(memoryStore({ keysMax: 10_000 }), { clock, ...options });
}
