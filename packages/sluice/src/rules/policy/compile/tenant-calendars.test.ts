// Quotas by the calendars of tenants: when they begin, and for whom.

import { describe, expect, it } from "vitest";
import { memoryStore } from "../../../stores/memory/memory-store.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import type { Facts } from "../../facts.js";
import type { TenantProfile } from "../../tenant-profile.js";
import { createPolicy } from "../create-policy.js";

const facts: Facts = { method: "GET", path: "/", ip: "203.0.113.10", tenant: "acme" };
const HOUR_MS = 3_600_000;

function stand(quota: object, profile: TenantProfile | undefined, rule: object = {}) {
  const clock = new ManualClock(Date.UTC(2024, 0, 1));
  const policy = createPolicy({
    rules: { version: 1, rules: [{ id: "a", key: "tenant", limit: { quota }, ...rule }] },
    durableStore: memoryStore(),
    clock,
  });
  policy.describeTenants((tenant) => (tenant === "acme" ? profile : undefined));
  return { clock, policy };
}

/** When the quota of a request at a time is full again, in ISO. */
async function endOf(
  at: string,
  quota: object,
  profile: TenantProfile | undefined,
  of: Facts = facts,
): Promise<string> {
  const { clock, policy } = stand({ limit: 1, ...quota }, profile);
  clock.set(Date.parse(at));
  await policy.admit(of);
  const { allowed, retryAfterMs } = await policy.admit(of);
  expect(allowed).toBe(false);
  return new Date(clock.now() + retryAfterMs).toISOString();
}

const month = { period: "month" };
const week = { period: "week" };
const day = { period: "day" };

describe("a quota by tenant", () => {
  it.each<[string, string, object, TenantProfile, string]>([
    [
      "month",
      "2024-06-15T12:00:00Z",
      month,
      { timeZone: "Asia/Tokyo" },
      "2024-06-30T15:00:00.000Z",
    ],
    [
      "month from the 15th",
      "2024-06-15T12:00:00Z",
      month,
      { billingAnchor: 15 },
      "2024-07-15T00:00:00.000Z",
    ],
    [
      "month from the 31st",
      "2024-02-10T12:00:00Z",
      month,
      { billingAnchor: 31 },
      "2024-02-29T00:00:00.000Z",
    ],
    [
      "month from the 31st, in February",
      "2024-02-29T00:00:00Z",
      month,
      { billingAnchor: 31 },
      "2024-03-31T00:00:00.000Z",
    ],
    [
      "month by a date",
      "2024-06-15T12:00:00Z",
      month,
      { billingAnchor: "2023-01-20T09:30" },
      "2024-06-20T09:30:00.000Z",
    ],
    [
      "month over a clock change",
      "2024-03-15T12:00:00Z",
      month,
      { timeZone: "America/New_York" },
      "2024-04-01T04:00:00.000Z",
    ],
    [
      "month that began in winter time",
      "2024-02-15T12:00:00Z",
      month,
      { timeZone: "America/New_York" },
      "2024-03-01T05:00:00.000Z",
    ],
    [
      "day of 23 hours",
      "2024-03-10T12:00:00Z",
      day,
      { timeZone: "America/New_York" },
      "2024-03-11T04:00:00.000Z",
    ],
    [
      "day whose first hour is skipped",
      "2024-03-30T12:00:00Z",
      day,
      { timeZone: "Asia/Beirut" },
      "2024-03-30T22:00:00.000Z",
    ],
    [
      "day by the time of a date",
      "2024-06-15T12:00:00Z",
      day,
      { billingAnchor: "2023-01-20T18:00" },
      "2024-06-15T18:00:00.000Z",
    ],
    [
      "week by the weekday of a date",
      "2024-06-15T12:00:00Z",
      week,
      { billingAnchor: "2023-01-20" },
      "2024-06-21T00:00:00.000Z",
    ],
    [
      "week, of which a day of the month says nothing",
      "2024-06-15T12:00:00Z",
      week,
      { billingAnchor: 15, timeZone: "Asia/Tokyo" },
      "2024-06-16T15:00:00.000Z",
    ],
  ])("ends with the tenant's %s", async (_what, at, quota, profile, end) => {
    expect(await endOf(at, quota, profile)).toBe(end);
  });

  it("has the time zone and the anchor that its limit says", async () => {
    const profile = { timeZone: "Asia/Tokyo", billingAnchor: 15 };
    const at = "2024-06-01T12:00:00Z";
    expect(await endOf(at, { ...month, timeZone: "UTC" }, profile)).toBe(
      "2024-06-15T00:00:00.000Z",
    );
    expect(await endOf(at, { ...month, anchor: 1 }, profile)).toBe("2024-06-30T15:00:00.000Z");
    expect(await endOf(at, { ...month, timeZone: "UTC", anchor: 1 }, profile)).toBe(
      "2024-07-01T00:00:00.000Z",
    );
  });

  it("is in UTC for a tenant of which nothing is known, and for callers without one", async () => {
    const at = "2024-06-15T12:00:00Z";
    const profile = { timeZone: "Asia/Tokyo" };
    const utc = "2024-07-01T00:00:00.000Z";
    expect(await endOf(at, month, profile, { ...facts, tenant: "other" })).toBe(utc);
    expect(await endOf(at, month, profile, { method: "GET", path: "/", ip: "203.0.113.9" })).toBe(
      utc,
    );
    expect(await endOf(at, month, undefined)).toBe(utc);
  });

  it("ignores what is not a time zone or an anchor", async () => {
    const at = "2024-06-15T12:00:00Z";
    const utc = "2024-07-01T00:00:00.000Z";
    expect(await endOf(at, month, { timeZone: "Mars/Base" })).toBe(utc);
    expect(await endOf(at, month, { billingAnchor: 40 })).toBe(utc);
    expect(await endOf(at, month, { billingAnchor: "soon" })).toBe(utc);
  });

  it("follows the tenant of a resolved API key, whose plan is known already", async () => {
    const known = { ...facts, plan: "gold", apiKey: "k1" };
    const end = await endOf("2024-06-15T12:00:00Z", month, { timeZone: "Asia/Tokyo" }, known);
    expect(end).toBe("2024-06-30T15:00:00.000Z");
  });

  it("keeps what was used in the period when the tier changes", async () => {
    const tiers = { pro: { quota: { limit: 20, period: "month" } } };
    const { policy } = stand(
      { limit: 10, period: "month" },
      { timeZone: "Asia/Tokyo" },
      { tiers, durable: true },
    );
    await policy.admit(facts, { cost: 4 });
    expect((await policy.peek({ ...facts, tier: "pro" })).remaining).toBe(16);
    const [first] = (await policy.peek(facts)).results;
    expect(first?.verdict.limit).toBe(10);
  });

  it("is refunded, reset and blocked in the period of the tenant", async () => {
    const { policy, clock } = stand({ limit: 10, period: "day" }, { timeZone: "Asia/Tokyo" });
    // In Tokyo it is the next day already.
    clock.set(Date.UTC(2024, 5, 15, 16));
    await policy.admit(facts, { cost: 4 });
    expect(await policy.refund("a", "tenant:acme", 1)).toBe(1);
    expect((await policy.peek(facts)).remaining).toBe(7);
    await policy.reset("a", "tenant:acme");
    expect((await policy.peek(facts)).remaining).toBe(10);
    await policy.block("a", "tenant:acme", HOUR_MS);
    expect((await policy.admit(facts)).reason).toBe("blocked");
  });

  it("does not concern rules by other keys", async () => {
    const { policy, clock } = stand(
      { limit: 1, period: "month" },
      { timeZone: "Asia/Tokyo" },
      { key: "user" },
    );
    const user = { ...facts, user: "42" };
    clock.set(Date.UTC(2024, 5, 15));
    await policy.admit(user);
    const { retryAfterMs } = await policy.admit(user);
    expect(new Date(clock.now() + retryAfterMs).toISOString()).toBe("2024-07-01T00:00:00.000Z");
  });
});
