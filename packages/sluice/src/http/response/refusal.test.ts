import { describe, expect, it } from "vitest";
import { byName, requestHandlerOf, requestOf } from "../../../test/handler-stand.js";
import { MoodyStore } from "../../../test/resilient-stand.js";
import { fixedWindow } from "../../limits/limits.js";
import { memoryStore } from "../../stores/memory/memory-store.js";
import type { HttpOptions } from "../handler/http-options.js";
import type { Refusal, RefusalContext } from "./refusal.js";

const one = fixedWindow({ limit: 1, windowMs: 60_000 });

/** The refusal of the second request under a limit of one. */
function refusalOf(http: HttpOptions, raw: unknown = {}): Refusal {
  const { handle } = requestHandlerOf([{ id: "login", limit: one }], http);
  handle();
  const { refusal } = handle({ raw });
  if (refusal === undefined) throw new Error("it was to be refused");
  return refusal;
}

describe("a refusal", () => {
  it("is a 429 whose body is a problem of the registered type", () => {
    const { status, fields, body, reason } = refusalOf({});
    expect([status, reason]).toEqual([429, "limit"]);
    expect(byName(fields)).toEqual({
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      "content-length": String(body.length),
      "retry-after": "60",
    });
    expect(JSON.parse(body)).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Too Many Requests",
      status: 429,
      code: "RATE_LIMIT_EXCEEDED",
      detail: "The rate limit is exceeded. Try again in 1 minute.",
      "violated-policies": ["login"],
      retryAfterMs: 60_000,
    });
  });

  it("says that the client is blocked, with the same code, where that is why", () => {
    const { requestHandler, handle } = requestHandlerOf([{ id: "login", key: "ip", limit: one }]);
    requestHandler.policy.block("login", "ip:203.0.113.10", 90_000);
    const { refusal } = handle();
    expect(refusal).toMatchObject({ status: 429, reason: "blocked" });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      code: "RATE_LIMIT_EXCEEDED",
      detail: "Requests of this client are blocked. Try again in 1 minute 30 seconds.",
    });
  });

  it("is a 503 where a rule is closed while its store is unavailable", async () => {
    const store = new MoodyStore(memoryStore());
    store.mood = "failing";
    const rule = { id: "login", limit: one, onStoreFailure: "closed" };
    const { requestHandler } = requestHandlerOf([rule], {}, { store });
    const { refusal } = await requestHandler.handle(requestOf());
    expect(refusal).toMatchObject({ status: 503, reason: "store" });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      status: 503,
      code: "RATE_LIMIT_UNAVAILABLE",
      "violated-policies": ["login"],
    });
    const named = byName(refusal?.fields ?? []);
    expect(Number(named["retry-after"])).toBeGreaterThanOrEqual(1);
    expect(named["cache-control"]).toBe("no-store");
  });

  it("is a 403 without a wait where the request does not say by what it is counted", () => {
    const rule = { id: "keyed", key: ["ip", "header:x-id"], onMissing: "refuse", limit: one };
    const { refusal } = requestHandlerOf([rule]).handle();
    expect(refusal).toMatchObject({ status: 403, reason: "identity" });
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({
      type: "about:blank",
      status: 403,
      code: "IDENTITY_MISSING",
      detail: "The request must have all of these: client address, X-Id header.",
      retryAfterMs: null,
    });
    expect(byName(refusal?.fields ?? [])).not.toHaveProperty("retry-after");
    expect(refusal?.body).not.toContain("203.0.113.10");
  });

  it.each([
    ["apiKey", {}, "no API key (expected in the X-API-Key header)"],
    ["apiKey", { header: "x-token" }, "no API key (expected in the X-Token header)"],
    [
      "apiKey",
      { header: "x-token", query: "key" },
      "no API key (expected in the X-Token header or the query parameter key)",
    ],
    [
      "apiKey",
      { scheme: "bearer" },
      "no API key (expected in the Authorization header, after bearer)",
    ],
    ["header:x-id", {}, "no X-Id header"],
    ["cookie:device", {}, "no cookie device"],
    ["body:email", {}, "no field email in its body"],
    ["attribute:plan", {}, "no attribute plan"],
    ["user", {}, "no user"],
  ])("names what is missing under the key %s, as identity reads it by %j", (key, apiKey, said) => {
    const rules = [
      { id: "keyed", match: { path: "/" }, key, onMissing: "refuse", limit: one },
      { id: "other", match: { path: "/other" }, key: "tenant", onMissing: "refuse", limit: one },
    ];
    const { requestHandler, handle } = requestHandlerOf(rules, { identity: { apiKey } });
    const detailOf = (body: string | undefined) => JSON.parse(body ?? "").detail;
    expect(detailOf(handle().refusal?.body)).toBe(`The request has ${said}.`);
    // One after the other: what was written for one rule must not answer for another.
    const other = requestHandler.handle(requestOf({ target: "/other" })) as ReturnType<
      typeof handle
    >;
    expect(detailOf(other.refusal?.body)).toBe("The request has no tenant.");
  });

  it("names nothing of a rule that is not exposed", () => {
    const rule = {
      id: "keyed",
      key: "header:x-id",
      onMissing: "refuse",
      expose: false,
      limit: one,
    };
    const { refusal } = requestHandlerOf([rule]).handle();
    expect(refusal?.body).toContain("has no identity that this rule can count by");
    expect(refusal?.body).not.toMatch(/x-id/i);
  });

  it("can be plain text, or have no body at all", () => {
    const text = refusalOf({ body: "text" });
    expect(text.body).toBe("The rate limit is exceeded. Try again in 1 minute.\n");
    expect(byName(text.fields)["content-type"]).toBe("text/plain; charset=utf-8");
    const minimal = refusalOf({ body: "minimal" });
    expect(minimal.body).toBe("");
    expect(byName(minimal.fields)).toEqual({
      "cache-control": "no-store",
      "content-length": "0",
      "retry-after": "60",
    });
  });

  it("can be written by a function, which is given the reason, and its length is that of its bytes", () => {
    const seen: RefusalContext[] = [];
    const raw = { from: "a framework" };
    const body = (context: RefusalContext) => {
      seen.push(context);
      return { type: "text/html", text: "<p>später…" };
    };
    const { fields, body: text } = refusalOf({ body }, raw);
    expect(text).toBe("<p>später…");
    expect(byName(fields)).toMatchObject({ "content-type": "text/html", "content-length": "13" });
    expect(seen).toMatchObject([
      { status: 429, reason: "limit", rules: ["login"], retryAfterMs: 60_000 },
    ]);
    expect(seen[0].request).toBe(raw);
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["answers nonsense", () => 42 as never],
    ["answers late, with an error", () => Promise.reject(new Error("late")) as never],
  ])("is a problem where the function %s, and onError hears of it", (_how, body) => {
    const errors: unknown[] = [];
    const refusal = refusalOf({ body, onError: (error) => errors.push(error) });
    expect(JSON.parse(refusal.body)).toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
    expect(errors).toHaveLength(1);
  });
});
