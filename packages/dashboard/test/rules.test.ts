import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { openPage, startDashboard } from "./dashboard-fixture.js";

afterAll(stopAll);

describe("the page Rules", () => {
  it("lists rules in words, switches one to deny with a reason, and the gateway refuses it", async () => {
    const { url, gateway } = await startDashboard();
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByText("5 per minute, by address").waitFor();
    await page.getByText("20 in a burst, then 5 per second, by address").waitFor();
    await page.getByRole("link", { name: "login", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "login" }).waitFor();
    expect((await fetch(`${gateway}/login`, { method: "POST" })).status).toBe(200);
    await page.getByRole("button", { name: "Deny all" }).click();
    await page.getByLabel("Reason").fill("credential stuffing");
    await page.getByRole("dialog").getByRole("button", { name: "Deny all" }).click();
    await page.getByText("denies all", { exact: true }).waitFor();
    expect((await fetch(`${gateway}/login`, { method: "POST" })).status).toBe(503);
    expect((await fetch(`${gateway}/other`)).status).toBe(200);
    await page.getByRole("button", { name: "Switch on" }).click();
    await page.getByLabel("Reason").fill("it is over");
    await page.getByRole("dialog").getByRole("button", { name: "Switch on" }).click();
    await page.getByText("on", { exact: true }).waitFor();
    expect((await fetch(`${gateway}/login`, { method: "POST" })).status).toBe(200);
    expect(faults).toEqual([]);
  });

  it("stays responsive with 10,000 rules", async () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => ({
      id: `rule-${i}`,
      match: { path: `/path/${i}` },
      key: "ip",
      limit: "5/minute",
    }));
    const { url } = await startDashboard({ rules: { version: 1, rules } });
    const { page, faults } = await openPage(`${url}audit`);
    await page.evaluate(WATCH_TASKS);
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByText("10,000 rules").waitFor();
    await page.getByLabel("Search").pressSequentially("rule-9999");
    await page.getByText("1 rule", { exact: true }).waitFor();
    await page.getByLabel("Order").selectOption({ label: "Busiest first" });
    await page.getByLabel("Search").fill("");
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("Page 2 of 200").waitFor();
    expect(new URL(page.url()).searchParams.get("page")).toBe("2");
    const longest = await page.evaluate("Math.max(0, ...longTasksMs)");
    expect(longest).toBeLessThan(200);
    expect(faults).toEqual([]);
  });
});

/** Collects how long tasks of the page take that take over 50 ms. */
const WATCH_TASKS = `
  globalThis.longTasksMs = [];
  new PerformanceObserver((list) => {
    longTasksMs.push(...list.getEntries().map(({ duration }) => duration));
  }).observe({ entryTypes: ["longtask"] });
`;
