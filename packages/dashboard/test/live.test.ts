import { onStop, startRedis, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf } from "./axe.js";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { untilPainted } from "./page-state.js";

afterAll(stopAll);

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
  const { gateway } = dashboard;
  const timer = setInterval(() => {
    for (let i = 0; i < 4; i++) fetch(`${gateway}/page`).catch(() => {});
    fetch(`${gateway}/login`, { method: "POST" }).catch(() => {});
  }, 200);
  onStop(() => clearInterval(timer));
});

describe("the page Live", () => {
  it("shows rates, rules, keys and refusals within seconds, and leads to the rule and the key", async () => {
    const { page, faults } = await openPage(dashboard.url);
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    const refused = page.locator(".figure.bad .figure-value");
    await expect.poll(() => refused.textContent()).toMatch(/^[1-9]/);
    const refusals = page.getByRole("region", { name: "Latest refusals" }).last();
    await refusals.getByText("over the limit of").first().waitFor();
    await page.getByText("answers").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await page.getByRole("link", { name: "ip:127.0.0.1" }).first().click();
    await expect
      .poll(() => page.url())
      .toMatch(/\/dashboard\/key\?rule=\w+&key=ip%3A127\.0\.0\.1$/);
    await page.goBack();
    await page.getByRole("link", { name: "login", exact: true }).first().click();
    await expect.poll(() => page.url()).toMatch(/\/dashboard\/rules\/login$/);
    expect(faults).toEqual([]);
  });

  it("stands still while it is paused, and is readable in the dark", async () => {
    const { page, faults } = await openPage(dashboard.url, { colorScheme: "dark" });
    await page.getByRole("region", { name: "Rules in the last second" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    const chart = page.locator(".chart figcaption");
    await untilPainted(page);
    const before = await chart.textContent();
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    expect(await chart.textContent()).toBe(before);
    expect(await findingsOf(page)).toEqual([]);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    expect(faults).toEqual([]);
  });

  it("says in a sentence what is degraded", async () => {
    const { page, faults } = await openPage(dashboard.url);
    const headers = { "content-type": "application/json" };
    const switchTo = (state: string) =>
      fetch(new URL(`/v1/rules/login/${state}`, dashboard.url), {
        method: "POST",
        headers,
        body: JSON.stringify({ reason: "a test" }),
      });
    expect((await switchTo("disable")).status).toBe(200);
    await page.getByText("The switch of login is off.").waitFor();
    expect((await switchTo("enable")).status).toBe(200);
    await page.getByText("The switch of login is off.").waitFor({ state: "detached" });
    expect(faults).toEqual([]);
  });

  it("says that it is not connected, and goes on by itself", async () => {
    const { page, context } = await openPage(dashboard.url);
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    await context.route("**/v1/live*", (route) => route.abort());
    await page.reload();
    await page.getByText("Not connected, trying again").waitFor();
    await context.unroute("**/v1/live*");
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
  });
});

describe("the page Live without its stream", () => {
  it("says why the service refuses it, and keeps what it showed", async () => {
    const { page, context } = await openPage("about:blank");
    await page.addInitScript(() => {
      const send = window.fetch;
      window.fetch = (what, options) => {
        if (!String(what).includes("/v1/live")) return send(what, options);
        const cut = new AbortController();
        Object.assign(window, { cutStream: () => cut.abort() });
        const signals = [cut.signal, options?.signal].filter((each) => each instanceof AbortSignal);
        return send(what, { ...options, signal: AbortSignal.any(signals) });
      };
    });
    await page.goto(dashboard.url);
    const allowed = page.locator(".figure.good .figure-value");
    await expect.poll(() => allowed.textContent()).toMatch(/^[1-9]/);
    const body = JSON.stringify({ detail: "the node is about to stop" });
    await context.route("**/v1/live*", (route) => route.fulfill({ status: 503, body }));
    await page.evaluate(() => (globalThis as unknown as { cutStream(): void }).cutStream());
    await page.getByText("The node is about to stop").waitFor();
    // A number, and not the dash of a page that has none.
    expect(await allowed.textContent()).toMatch(/^\d/);
    await context.unroute("**/v1/live*");
    await page.getByText("The node is about to stop").waitFor({ state: "detached" });
  });
});

describe("the page Live with Redis", () => {
  it("shows delayed and shadow-refused requests, and says what happens while Redis is gone", async () => {
    const redis = await startRedis();
    onStop(() => redis.stop());
    const { url, gateway } = await startDashboard({
      rules: {
        version: 1,
        rules: [
          { id: "queue", key: "ip", limit: { leakyBucket: { ratePerSecond: 5, queueSize: 3 } } },
          { id: "planned", key: "ip", limit: "1/hour", onExceed: "shadow" },
        ],
      },
      config: { store: { kind: "redis", url: `redis://${redis.host}:${redis.port}` } },
    });
    const timer = setInterval(() => void fetch(gateway).catch(() => {}), 100);
    onStop(() => clearInterval(timer));
    const { page, faults } = await openPage(url);
    for (const kind of ["warn", "info"])
      await expect
        .poll(() => page.locator(`.figure.${kind} .figure-note`).textContent(), { message: kind })
        .toMatch(/^peak [1-9]/);
    await page.getByText("answers", { exact: true }).waitFor();
    await redis.kill();
    const sentence = page.getByText(
      "The store does not answer and its circuit breaker is open: each node decides by its own counters, with its share of the limits.",
    );
    await sentence.waitFor();
    await page.getByText("fallback: local").waitFor();
    await redis.restart();
    await sentence.waitFor({ state: "detached" });
    await page.getByText("answers", { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });
});
