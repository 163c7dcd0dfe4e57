// What responses say about a limiter's own decisions is what the middleware says about the same limit as a rule.

import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf, START_MS } from "../../../test/handler-stand.js";
import { createLimiter } from "../../limiter/limiter.js";
import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "../../limits/limits.js";
import { limitResponses } from "./limit-responses.js";

const windows = { limit: 3, windowMs: 60_000 };
const limits: readonly Limit[] = [
  tokenBucket({ capacity: 3, refill: { amount: 3, everyMs: 60_000 } }),
  leakyBucket({ ratePerSecond: 0.05, queueSize: 2, mode: "meter" }),
  fixedWindow(windows),
  slidingWindowCounter(windows),
  slidingWindowLog(windows),
  quota({ limit: 3, period: "day" }),
];

describe.each(limits.map((limit) => ({ limit, name: limit.algorithm })))(
  "responses about $name",
  ({ limit, name }) => {
    it("are those of the middleware, admitted and refused", () => {
      const stand = requestHandlerOf([{ id: name, limit }], { legacyHeaders: false });
      const limiter = createLimiter({ limit });
      const responses = limitResponses({ name, limit });
      for (let at = 0; at < 6; at++) {
        const { fields, refusal } = stand.handle();
        const said = responses.responseTo(limiter.check("key", { nowMs: START_MS + at * 700 }));
        const expected = { ...byName(fields), ...byName(refusal?.fields ?? []) };
        delete expected["content-length"];
        expect(byName(said.fields)).toEqual(expected);
        expect(said.status).toBe(refusal?.status);
        expect(said.body).toBe(refusal?.body ?? "");
        stand.clock.advance(700);
      }
    });
  },
);

describe("responses about permits", () => {
  it("have a Retry-After once it is known how long permits are held", () => {
    const limit = concurrency({ limit: 1, permitMs: 60_000 });
    const limiter = createLimiter({ limit });
    const responses = limitResponses({ name: "uploads", limit });
    const permit = limiter.acquire("key", { nowMs: 0 });
    expect(byName(responses.responseTo(permit).fields)).toEqual({
      "ratelimit-policy": '"uploads";q=1;qu="concurrent-requests"',
      ratelimit: '"uploads";r=0',
    });
    const refused = limiter.acquire("key", { nowMs: 1 });
    expect(byName(responses.responseTo(refused).fields)["retry-after"]).toBeUndefined();
    responses.noteHold(2_500);
    expect(byName(responses.responseTo(refused).fields)["retry-after"]).toBe("3");
  });
});

it("refuses options that can't be used", () => {
  expect(() => limitResponses({ name: "", limit: "5/minute" })).toThrow(/limitResponses.*name/);
});
