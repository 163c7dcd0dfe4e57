import { describe, expect, it } from "vitest";
import type { QuotaReport } from "../headers/quota-report.js";
import { Partition, ROUTES_MAX } from "./partition.js";

const NOW_MS = 1_000_000;

function report(name: string, remaining: number, partitionKey?: string): QuotaReport {
  return { name, partitionKey, limit: 100, remaining, resetMs: 60_000, isOfRequests: true };
}

/** A response of this route reports these quotas. */
function answer(partition: Partition, name: string, ...reports: readonly QuotaReport[]): void {
  const route = partition.route(name);
  const endedBefore = partition.ended;
  route.ended(route.sent(NOW_MS));
  route.learn(reports, NOW_MS, () => 0, endedBefore);
}

const mustMsOf = (partition: Partition, name: string) =>
  partition.route(name).wait(NOW_MS, true).mustMs;

describe("a partition", () => {
  it("holds back only the routes that a used-up quota was reported for", () => {
    const partition = new Partition();
    answer(partition, "GET /search", report("search", 0));
    answer(partition, "GET /users", report("core", 50));
    expect(mustMsOf(partition, "GET /search")).toBe(60_000);
    expect(mustMsOf(partition, "GET /users")).toBe(0);
  });

  it("paces a route that is not known by the quotas that all known routes share", () => {
    const partition = new Partition();
    answer(partition, "GET /a", report("all", 0), report("a", 50));
    answer(partition, "GET /b", report("all", 0), report("b", 50));
    expect(mustMsOf(partition, "GET /c")).toBe(60_000);
    answer(partition, "GET /d", report("other", 50));
    expect(mustMsOf(partition, "GET /c")).toBe(0);
  });

  it("counts one quota for all routes that report it", () => {
    const partition = new Partition();
    answer(partition, "GET /a", report("all", 2));
    answer(partition, "GET /b", report("all", 2));
    partition.route("GET /a").sent(NOW_MS);
    partition.route("GET /b").sent(NOW_MS);
    expect(mustMsOf(partition, "GET /a")).toBe(60_000);
  });

  it("keeps quotas of one name apart by the server's partition key", () => {
    const partition = new Partition();
    answer(partition, "GET /a", report("user", 0, "1"));
    answer(partition, "GET /b", report("user", 50, "2"));
    expect(mustMsOf(partition, "GET /a")).toBe(60_000);
    expect(mustMsOf(partition, "GET /b")).toBe(0);
  });

  it("keeps quotas without a name apart by their limits, as X has one for each endpoint", () => {
    const partition = new Partition();
    answer(partition, "GET /lists", { ...report("", 0), limit: 15 });
    answer(partition, "GET /users", { ...report("", 899), limit: 900 });
    expect(mustMsOf(partition, "GET /lists")).toBe(60_000);
    expect(mustMsOf(partition, "GET /users")).toBe(0);
  });

  it("follows a route to other quotas", () => {
    const partition = new Partition();
    answer(partition, "GET /a", report("free", 0));
    answer(partition, "GET /a", report("paid", 50));
    expect(mustMsOf(partition, "GET /a")).toBe(0);
  });

  it("remembers a bounded number of routes, and what the others share", () => {
    const partition = new Partition();
    for (let i = 0; i < 3 * ROUTES_MAX; i++) answer(partition, `GET /${i}`, report("all", 0));
    expect(partition.reportingRoutes).toBe(ROUTES_MAX);
    expect(mustMsOf(partition, "GET /0")).toBe(60_000);
  });

  it("does not count a route that reports its quotas when it is no longer remembered", () => {
    const partition = new Partition();
    const late = partition.route("GET /late");
    for (let i = 0; i < ROUTES_MAX; i++) answer(partition, `GET /${i}`, report("all", 0));
    late.learn([report("other", 5)], NOW_MS, () => 0, 0);
    expect(partition.reportingRoutes).toBe(ROUTES_MAX);
    expect(mustMsOf(partition, "GET /new")).toBe(60_000);
  });

  it("remembers a bounded number of quotas, whatever names a server makes up", () => {
    const partition = new Partition();
    for (let i = 0; i < 1_000; i++) answer(partition, "GET /", report(`q${i}`, 5));
    expect([...partition.quotas].length).toBeLessThanOrEqual(64);
  });

  it("that is not paced only waits where refusals have asked for it", () => {
    const partition = new Partition();
    answer(partition, "GET /", report("all", 0));
    const route = partition.route("GET /");
    expect(route.wait(NOW_MS, false).mustMs).toBe(0);
    route.pausedUntilMs = NOW_MS + 500;
    expect(route.wait(NOW_MS, false).mustMs).toBe(500);
    partition.pausedUntilMs = NOW_MS + 700;
    expect(partition.route("GET /other").wait(NOW_MS, false).mustMs).toBe(700);
  });
});
