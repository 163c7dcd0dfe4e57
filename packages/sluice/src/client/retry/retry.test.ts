import { describe, expect, it } from "vitest";
import { toBackoffMs } from "./backoff.js";
import { BUDGET_MAX, RetryBudget } from "./retry-budget.js";
import { isIdempotent, isRetriedResponse, isTransient, outcomeOf } from "./retryable.js";

describe("the backoff", () => {
  const options = { backoffMs: 100, backoffMsMax: 1_000 };

  it("is a random time from zero to a bound that doubles with each attempt, up to a limit", () => {
    const bounds = [1, 2, 3, 4, 5, 60].map((attempt) =>
      toBackoffMs(options, attempt, undefined, 1),
    );
    expect(bounds).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(toBackoffMs(options, 5, undefined, 0)).toBe(0);
    expect(toBackoffMs(options, 5, undefined, 0.5)).toBe(500);
  });

  it("is never shorter than what the server asked for, and differs from client to client", () => {
    expect(toBackoffMs(options, 1, 20_000, 0)).toBe(20_000);
    expect(toBackoffMs(options, 1, 20_000, 0.5)).toBe(20_500);
    expect(toBackoffMs(options, 1, 2_000, 1)).toBe(2_500);
    expect(toBackoffMs(options, 1, 100, 1)).toBe(200);
  });
});

describe("the retry budget", () => {
  it("allows ten retries at first, and then a tenth of the requests", () => {
    const budget = new RetryBudget(0.1);
    let retries = 0;
    for (let i = 0; i < 1_000; i++) {
      budget.earn();
      // Everything fails, and everything wants three retries.
      for (let retry = 0; retry < 3; retry++) if (budget.spend()) retries++;
    }
    expect(retries).toBe(BUDGET_MAX + 100 - 1);
  });

  it("does not save up more than ten", () => {
    const budget = new RetryBudget(0.1);
    for (let i = 0; i < 10_000; i++) budget.earn();
    expect(budget.left).toBe(BUDGET_MAX);
  });

  it("of 0 allows none", () => {
    const budget = new RetryBudget(0);
    budget.earn();
    expect(budget.spend()).toBe(false);
  });
});

describe("what may be repeated", () => {
  it("are the methods that RFC 9110 calls idempotent", () => {
    const methods = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "POST", "PATCH", "CONNECT"];
    expect(methods.filter(isIdempotent)).toEqual(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);
  });

  it.each([
    [200, {}, "answered", false],
    [404, {}, "answered", false],
    [403, {}, "answered", false],
    [403, { "x-ratelimit-remaining": "0" }, "refused", true],
    [403, { "retry-after": "60" }, "refused", true],
    [408, {}, "answered", true],
    [409, {}, "answered", false],
    [409, { "stripe-should-retry": "true" }, "answered", true],
    [200, { "stripe-should-retry": "true" }, "answered", false],
    [429, {}, "refused", true],
    [429, { "stripe-should-retry": "false" }, "refused", false],
    [500, {}, "failed", true],
    [500, { "x-should-retry": "false" }, "failed", false],
    [501, {}, "answered", false],
    [502, {}, "failed", true],
    [503, {}, "refused", true],
    [504, {}, "failed", true],
  ])("a response of %i with %j is %s: %j", (status, fields, outcome, isRetried) => {
    const headers = new Headers(fields as Record<string, string>);
    expect(outcomeOf(status, headers)).toBe(outcome);
    expect(isRetriedResponse(status, outcomeOf(status, headers), headers)).toBe(isRetried);
  });

  it.each([
    ["a connection reset", withCause({ code: "ECONNRESET" }), true],
    ["all addresses refused", withCause({ errors: [{ code: "ECONNREFUSED" }] }), true],
    [
      "undici's own",
      Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
      true,
    ],
    ["Chrome's", new TypeError("Failed to fetch"), true],
    ["a redirect loop", withCause(new Error("redirect count exceeded")), false],
    ["a certificate", withCause({ code: "CERT_HAS_EXPIRED" }), false],
    ["an invalid header", new TypeError("Headers.append: invalid value"), false],
    ["anything else", "no error", false],
  ])("after %s: %#", (_what, error, isRepeated) => {
    expect(isTransient(error)).toBe(isRepeated);
  });
});

function withCause(cause: unknown): TypeError {
  return new TypeError("fetch failed", { cause });
}
