import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { longestTaskMs } from "./long-tasks.js";

afterAll(stopAll);

describe("the page Rules", () => {
  it("lists rules in words with their rates, switches one to deny with a reason, and the gateway refuses it", async () => {
    const { url, gateway } = await startDashboard();
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByText("5 per minute, by address").waitFor();
    await page.getByText("20 in a burst, then 5 per second, by address").waitFor();
    const everything = page.getByRole("row", { name: /^everything/ });
    const allowedRate = async () => {
      await fetch(`${gateway}/page`);
      return everything.locator("td[data-name=Allowed]").textContent();
    };
    await expect.poll(allowedRate, { interval: 250 }).toMatch(/^(0\.\d+|[1-9].*)\/s$/);
    // The highest second of the sparkline is at its upper edge; without requests all are at the lower one.
    const line = everything.getByRole("img", { name: "Requests under everything" });
    expect(await line.locator("polyline").getAttribute("points")).toMatch(/,1\.0( |$)/);
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

  it("switches all rules to deny, to off and on again, each with a reason, and the gateway follows", async () => {
    const rules = { version: 1, rules: [{ id: "few", key: "ip", limit: "1/hour" }] };
    const { url, gateway } = await startDashboard({ rules });
    const statusOf = async () => (await fetch(gateway)).status;
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
    const { page, faults } = await openPage(`${url}rules`);
    const dialog = page.getByRole("dialog");
    const confirm = async (verb: string, reason: string) => {
      const button = dialog.getByRole("button", { name: verb, exact: true });
      expect(await button.isDisabled()).toBe(true);
      await dialog.getByLabel("Reason").fill(reason);
      await button.click();
      await dialog.waitFor({ state: "detached" });
    };
    await page.getByRole("button", { name: "Kill switch" }).click();
    await dialog.getByLabel("All rules").selectOption("deny");
    expect(await findingsEverywhere(page)).toEqual([]);
    await confirm("Deny all", "an attack");
    await page.getByText("All requests are refused:").waitFor();
    expect(await statusOf()).toBe(503);
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.getByRole("button", { name: "Kill switch" }).click();
    await confirm("Switch all off", "limits are in the way");
    await page.getByText("All rules are off:").waitFor();
    expect([await statusOf(), await statusOf()]).toEqual([200, 200]);
    await page.getByRole("button", { name: "Switch all on" }).click();
    await confirm("Switch all on", "it is over");
    await page.getByText("All rules are off:").waitFor({ state: "detached" });
    expect(await statusOf()).toBe(429);
    const { items } = (await (await fetch(new URL("/v1/audit?kind=switch", url))).json()) as {
      items: { entityId: string; reason: string }[];
    };
    expect(items.map(({ entityId, reason }) => `${entityId} ${reason}`)).toEqual([
      "* it is over",
      "* limits are in the way",
      "* an attack",
    ]);
    expect(faults).toEqual([]);
  });

  it("stays responsive with 10,000 rules", async () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => ({
      id: `rule-${i}`,
      match: { path: `/path/${i}` },
      key: "ip",
      limit: "5/minute",
    }));
    const { url, gateway } = await startDashboard({ rules: { version: 1, rules } });
    for (let i = 0; i < 3; i++) expect((await fetch(`${gateway}/path/7`)).status).toBe(200);
    const { page, faults } = await openPage(`${url}access`);
    const longestMs = await longestTaskMs(async () => {
      await page.getByRole("link", { name: "Rules", exact: true }).click();
      await page.getByText("10,000 rules").waitFor();
      await page.getByLabel("Search").pressSequentially("rule-9999");
      await page.getByText("1 rule", { exact: true }).waitFor();
      await page.getByLabel("Order").selectOption({ label: "Busiest first" });
      await page.getByLabel("Search").fill("");
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByText("Page 2 of 200").waitFor();
    });
    expect(new URL(page.url()).searchParams.get("page")).toBe("2");
    expect(longestMs).toBeLessThan(200);
    expect(faults).toEqual([]);
    // Neither do decisions wait for a preview of so many.
    const stricter = rules.map((rule) => ({ ...rule, limit: "2/minute" }));
    const text = JSON.stringify({ version: 1, rules: stricter });
    const timed = await withLongestPause(async () => {
      const answer = await fetch(new URL("/v1/rule-sets/preview", url), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ text }),
      });
      return (await answer.json()) as { requests: object };
    });
    expect(timed.result.requests).toMatchObject({ total: 3, newlyRefused: 1 });
    expect(timed.pauseMs).toBeLessThan(500);
  });

  it("leaves out what a viewer may not do", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const made = await fetch(new URL("/v1/access-tokens", url), {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "reader", role: "viewer" }),
    });
    const { secret } = (await made.json()) as { secret: string };
    const { page, faults } = await openPage(`${url}rules/login`);
    await page.getByLabel("Access token").fill(secret);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { name: "Definition" }).waitFor();
    expect(await page.getByRole("heading", { name: "Controls" }).count()).toBe(0);
    await page.getByRole("link", { name: "All rules" }).click();
    await page.getByText("5 per minute, by address").waitFor();
    expect(await page.getByRole("link", { name: "Edit rules" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Kill switch" }).count()).toBe(0);
    await page.goto(`${url}rules/history/1`);
    await page.getByText("These are the rules in force.").waitFor();
    await page.goto(`${url}rules/edit`);
    await page.getByRole("textbox", { name: "Rules" }).waitFor();
    expect(await page.getByRole("button", { name: "Save draft" }).count()).toBe(0);
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});

/** The longest time for which this process, and the service in it, did nothing else while `task` ran. */
async function withLongestPause<T>(task: () => Promise<T>) {
  let pauseMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    pauseMs = Math.max(pauseMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 5);
  const result = await task();
  clearInterval(timer);
  return { result, pauseMs };
}
