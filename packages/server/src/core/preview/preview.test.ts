import { memoryStore } from "sluice";
import { createPolicy, type Facts, parseRules, RulesError } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { describe, expect, it } from "vitest";
import { readMs } from "../../base/clock.js";
import type { ReplaySample } from "../replay/replay.js";
import { preview } from "./preview.js";

const NOON = Date.UTC(2026, 10, 16, 12);
const toText = (rules: readonly object[]) => JSON.stringify({ version: 1, rules });
const login = (limit: string, more: object = {}) => ({ id: "login", key: "ip", limit, ...more });

/** Requests, each some milliseconds after the one before it, as the rules in force decided them. */
async function decideLive(
  text: string,
  requests: readonly (Partial<Facts> & { readonly afterMs?: number })[],
) {
  const clock = new ManualClock(NOON);
  const store = memoryStore();
  const policy = createPolicy({ rules: text, store, clock });
  const samples: ReplaySample[] = [];
  for (const { afterMs = 100, ...rest } of requests) {
    clock.advance(afterMs);
    const facts = { method: "GET", path: "/", ip: "203.0.113.1", ...rest };
    const { allowed, delayMs } = await policy.admit(facts);
    const outcome = !allowed ? "blocked" : delayMs > 0 ? "delayed" : "allowed";
    samples.push({ atMs: clock.now(), facts, outcome });
  }
  const input = { inForce: policy.rules, samples, fromMs: NOON, toMs: clock.now() };
  return { policy, store, input };
}

/** `counts[i]` requests of the caller i, taking turns. */
function toRequests(counts: readonly number[]) {
  const turns = Array.from({ length: Math.max(...counts) }, (_, turn) => turn);
  return turns.flatMap((turn) =>
    counts.flatMap((count, i) => (turn < count ? [{ ip: `203.0.113.${i}` }] : [])),
  );
}

describe("a preview", () => {
  it("of the rules in force finds no difference, and answers as they answered", async () => {
    const text = toText([
      login("5/minute"),
      { id: "slow", key: "ip", limit: { tokenBucket: { capacity: 8, refillPerSecond: 1 } } },
      { id: "all", key: "global", limit: "40/second" },
    ]);
    const { input } = await decideLive(text, toRequests([3, 9, 1, 20]));
    const { requests, callers, byRule, byKey } = await preview({ ...input, text });
    expect(requests).toEqual({
      total: 33,
      refusedBefore: 19,
      refusedAfter: 19,
      newlyRefused: 0,
      newlyAllowed: 0,
      unjudged: 0,
      asDecided: 33,
    });
    expect(callers).toEqual({ total: 4, newlyRefused: 0, newlyAllowed: 0 });
    expect([byRule, byKey]).toEqual([[], []]);
  });

  it("of a lower limit names exactly those who would be refused, and of a higher one the reverse", async () => {
    const [five, three] = [toText([login("5/minute")]), toText([login("3/minute")])];
    const counts = [3, 4, 5, 9];
    const { input } = await decideLive(five, toRequests(counts));
    const lower = await preview({ ...input, text: three });
    expect(lower.requests).toMatchObject({ refusedBefore: 4, refusedAfter: 9, newlyRefused: 5 });
    expect(lower.callers).toEqual({ total: 4, newlyRefused: 3, newlyAllowed: 0 });
    expect(lower.byRule).toEqual([{ rule: "login", newlyRefused: 5, newlyAllowed: 0, keys: 3 }]);
    expect(new Map(lower.byKey.map(({ key, newlyRefused }) => [key, newlyRefused]))).toEqual(
      new Map([
        ["ip:203.0.113.1", 1],
        ["ip:203.0.113.2", 2],
        ["ip:203.0.113.3", 2],
      ]),
    );
    const reverse = { ...input, inForce: parseRules(three), text: five };
    const higher = await preview(reverse);
    expect(higher.requests).toMatchObject({ newlyRefused: 0, newlyAllowed: 5 });
    expect(higher.callers).toEqual({ total: 4, newlyRefused: 0, newlyAllowed: 3 });
  });

  it("goes by the times of the samples, keeps switches, and counts no shadow refusal", async () => {
    const text = toText([login("2/second")]);
    const spread = Array.from({ length: 10 }, () => ({ afterMs: 1_000 }));
    const { input } = await decideLive(text, spread);
    const draft = toText([login("1/second")]);
    expect((await preview({ ...input, text: draft })).requests.newlyRefused).toBe(0);
    const burst = await decideLive(text, [{}, {}, { afterMs: 900 }]);
    const off = { all: "on", rules: [{ rule: "login", state: "off" }] } as const;
    expect((await preview({ ...burst.input, text: draft })).requests.newlyRefused).toBe(1);
    const withSwitch = { ...burst.input, text: draft, switches: off };
    expect((await preview(withSwitch)).requests.newlyRefused).toBe(0);
    const shadow = toText([login("1/second", { onExceed: "shadow" })]);
    expect((await preview({ ...burst.input, text: shadow })).requests.newlyRefused).toBe(0);
  });

  it("gives the draft the exceptions of plans and overrides too", async () => {
    const text = toText([login("5/minute")]);
    const requests = Array.from({ length: 5 }, () => ({ user: "ann" }));
    const { input } = await decideLive(text, requests);
    const exceptions = [
      { ruleId: "login", by: "user", value: "ann", limits: "100/minute" } as const,
    ];
    const strict = { ...input, text: toText([login("1/minute")]) };
    expect((await preview(strict)).requests.newlyRefused).toBe(4);
    expect((await preview({ ...strict, exceptions })).requests.newlyRefused).toBe(0);
  });

  it("judges only keys that are wholly in the sample", async () => {
    const { input } = await decideLive(toText([login("5/minute")]), toRequests([5, 5]));
    const isWhole = (key: string) => key === "ip:203.0.113.1";
    const { requests, callers } = await preview({
      ...input,
      text: toText([login("1/minute")]),
      isWhole,
    });
    expect(requests).toMatchObject({ newlyRefused: 4, unjudged: 4 });
    expect(callers.newlyRefused).toBe(1);
  });

  it("changes no counter of the service", async () => {
    const text = toText([login("5/minute")]);
    const { policy, input } = await decideLive(text, toRequests([3]));
    await preview({ ...input, text: toText([login("1/minute")]) });
    const facts = { method: "GET", path: "/", ip: "203.0.113.0" };
    expect((await policy.peek(facts)).remaining).toBe(2);
  });

  it("says which rules samples can't show wholly", async () => {
    const { input } = await decideLive(toText([login("5/minute")]), [{ afterMs: 60_000 }]);
    const { unjudgedRules } = await preview({
      ...input,
      text: toText([
        login("5/second"),
        { id: "header", key: "header:x-device", limit: "5/second" },
        { id: "month", key: "ip", limit: { quota: { limit: 100, period: "month" } } },
        { id: "together", key: "ip", limit: { concurrency: { limit: 3, permitMs: "10s" } } },
        { id: "failed", key: "ip", limit: "3/second", when: { status: 401 } },
      ]),
    });
    expect(unjudgedRules).toEqual([
      { rule: "header", why: expect.stringContaining("no header x-device") },
      { rule: "month", why: expect.stringContaining("a longer time") },
      { rule: "together", why: expect.stringContaining("how long requests took") },
      { rule: "failed", why: expect.stringContaining("how requests were answered") },
    ]);
  });

  it("refuses drafts that can't be used, and goes on with the next", async () => {
    const { input } = await decideLive(toText([login("5/minute")]), toRequests([3]));
    const hostile = [
      "rules: [",
      "version: 1\nrules: [{ id: login, limit: 5/minute, key: ip, limt: 3 }]",
      `version: 1\na: &a [x, x]\nb: [${"*a, ".repeat(1_000)}]`,
      "[".repeat(50_000),
      "\u0000\uFFFF",
    ];
    for (const text of hostile)
      await expect(preview({ ...input, text })).rejects.toBeInstanceOf(RulesError);
    const text = toText([login("5/minute")]);
    expect((await preview({ ...input, text })).requests.total).toBe(3);
  });

  it("is bounded in time and in number, and lets others run", async () => {
    const text = toText([login("5/minute")]);
    const { input } = await decideLive(text, toRequests([2_000]));
    const cut = await preview({ ...input, text, workMsMax: 0 });
    expect(cut.samplesLeftOut + cut.requests.total).toBe(2_000);
    const many = Array.from({ length: 20 }, () => preview({ ...input, text }));
    const settled = await Promise.allSettled(many);
    const busy = settled.filter(({ status }) => status === "rejected");
    expect(busy.length).toBe(12);
    expect(String((busy[0] as PromiseRejectedResult).reason)).toContain("previews wait");
    let longestMs = 0;
    let lastMs = readMs();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, readMs() - lastMs);
      lastMs = readMs();
    }, 1);
    const samples = Array.from({ length: 20 }, () => input.samples).flat();
    await preview({ ...input, samples, text });
    clearInterval(timer);
    expect(longestMs).toBeLessThan(500);
  });
});
