import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf, START_MS } from "../../../test/handler-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { callerBlocks } from "../../rules/policy/operator/caller-blocks.js";

const three = fixedWindow({ limit: 3, windowMs: 60_000 });

describe("a request that an operator refuses", () => {
  it("gets 429 with the time until the caller's block ends, and not the operator's words", () => {
    const { requestHandler, handle, clock } = requestHandlerOf([{ id: "api", limit: three }]);
    requestHandler.policy.blockCallers(
      callerBlocks([
        { subject: "ip:203.0.113.0/24", reason: "scraper of prices", endsAtMs: START_MS + 30_000 },
      ]),
    );
    const { refusal, fields } = handle();
    expect(refusal).toMatchObject({ status: 429, reason: "blocked", retryAfterMs: 30_000 });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      status: 429,
      code: "RATE_LIMIT_EXCEEDED",
      detail: "Requests of this client are blocked. Try again in 30 seconds.",
      "violated-policies": [],
      retryAfterMs: 30_000,
    });
    expect(`${fields}${refusal?.body}`).not.toContain("prices");
    expect(byName([...fields, ...(refusal?.fields ?? [])])["retry-after"]).toBe("30");
    clock.advance(30_000);
    expect(handle()).toMatchObject({ refusal: undefined, decision: { remaining: 2 } });
  });

  it("is identified for blocks by user, whatever the rules need", () => {
    const { requestHandler, handle } = requestHandlerOf([{ id: "api", limit: three }], {
      identity: { user: { header: "x-user", trust: "anyone" } },
    });
    requestHandler.policy.blockCallers(callerBlocks([{ subject: "user:42", reason: "abuse" }]));
    expect(handle({ headers: { "x-user": "42" } }).refusal).toMatchObject({
      status: 429,
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
    expect(handle({ headers: { "x-user": "43" } }).decision.remaining).toBe(2);
  });

  it("gets 503 without a time if a switch denies it, on the single-rule path as on any other", () => {
    const { requestHandler, handle } = requestHandlerOf([{ id: "api", limit: three }]);
    expect(handle().refusal).toBeUndefined();
    requestHandler.policy.switch("api", "deny");
    const { refusal, fields } = handle();
    expect(refusal).toMatchObject({ status: 503, reason: "denied" });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      code: "REQUESTS_DENIED",
      detail: "Requests of this kind are not accepted at the moment.",
      retryAfterMs: null,
    });
    expect(byName([...fields, ...(refusal?.fields ?? [])])["retry-after"]).toBeUndefined();
    requestHandler.policy.switch("api", "on");
    expect(handle().decision.remaining).toBe(1);
  });

  it("sees when it would pass in GET /rate_limit", async () => {
    const { requestHandler } = requestHandlerOf([{ id: "api", limit: three }]);
    const { policy } = requestHandler;
    const facts = { method: "GET", path: "/", ip: "203.0.113.10" };
    const waitMs = async () => (await policy.state(facts))[0].retryAfterMs;
    expect(await waitMs()).toBe(0);
    policy.blockCallers(
      callerBlocks([{ subject: "ip:203.0.113.10", reason: "x", endsAtMs: START_MS + 9 }]),
    );
    expect(await waitMs()).toBe(9);
    policy.switch("api", "deny");
    expect(await waitMs()).toBe(Number.POSITIVE_INFINITY);
  });
});
