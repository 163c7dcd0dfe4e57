// Cases of the conformance kit as tests. One that a store does not promise is reported as skipped, with its reason.

import type { TestContext } from "vitest";
import type { ConformanceCase } from "../src/testing/store-conformance.js";

/** The body of the test of a case. */
export function toTest({ skipped, run }: ConformanceCase) {
  return (context: TestContext): Promise<void> =>
    skipped === undefined ? run() : context.skip(skipped);
}
