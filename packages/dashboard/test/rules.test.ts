import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { untilCount } from "./page-state.js";

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
    await expect.poll(() => line.locator("polyline").getAttribute("points")).toMatch(/,1\.0( |$)/);
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
    // From a rule to where it is written.
    await page.getByRole("link", { name: "Edit this rule" }).click();
    await page.waitForURL(/\/rules\/edit\?line=\d+$/);
    const place = new URL(page.url()).searchParams.get("line") ?? "";
    expect(Number(place)).toBeGreaterThan(1);
    await page.locator(".cm-activeLineGutter").getByText(place, { exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  it("has lines from the first moment on, after the page Live was open", async () => {
    const { url, gateway } = await startDashboard();
    const { page, faults } = await openPage(url);
    const busiest = page.getByRole("region", { name: "Rules in the last second" });
    const rowAfter = async (requests: number) => {
      await Promise.all(Array.from({ length: requests }, () => fetch(`${gateway}/page`)));
      return busiest.getByRole("row", { name: /^everything/ }).textContent();
    };
    // Two seconds of the stream, which differ by their rates: a line needs two.
    await expect.poll(() => rowAfter(1), { interval: 250 }).toMatch(/^everything[1-9]\D/);
    await expect.poll(() => rowAfter(20), { interval: 250 }).toMatch(/^everything\d\d/);
    // No second of the stream comes any more: what is drawn was there before.
    await page.route("**/v1/live*", () => {});
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    const line = page.getByRole("img", { name: "Requests under everything" });
    await expect.poll(() => line.locator("polyline").getAttribute("points")).toMatch(/,1\.0( |$)/);
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
      await expect.poll(() => button.isDisabled()).toBe(true);
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
    // An operator on the node switches it alone while the database is unavailable; the page ends that too.
    const put = await fetch(new URL("/v1/node/switches/*", url), {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ state: "deny", reason: "no database" }),
    });
    expect([put.status, await statusOf()]).toEqual([200, 503]);
    await page.reload();
    await page.getByText("This node alone is switched.").waitFor();
    await page.getByRole("button", { name: "Switch all on" }).click();
    await confirm("Switch all on", "the database is back");
    await page.getByText("All requests are refused:").waitFor({ state: "detached" });
    expect(await statusOf()).toBe(429);
    // The browser itself logs that the control plane had no switch.
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  it("shows which keys a rule has blocked for longer each time, and leads to where they are unblocked", async () => {
    const escalate = { after: "2 refusals in 1m", blocks: ["1d", "7d"] };
    const rules = { version: 1, rules: [{ id: "few", key: "ip", limit: "1/hour", escalate }] };
    const { url, gateway } = await startDashboard({ rules });
    const { page, faults } = await openPage(`${url}rules/few`);
    await page.getByText("are blocked after 2 refusals in 60 s: for 24 h, then 7 days").waitFor();
    await page.getByText("No key is blocked for exceeding this limit").waitFor();
    for (const status of [200, 429, 429]) expect((await fetch(gateway)).status).toBe(status);
    const blocked = page.getByRole("region", { name: "Blocked keys" });
    await blocked.getByRole("row", { name: /^ip:127\.0\.0\.1.*1.*24 h$/ }).waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    await blocked.getByRole("link", { name: "ip:127.0.0.1" }).click();
    await page.getByRole("button", { name: "Unblock" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("it was us");
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.goto(`${url}rules/few`);
    await page.getByText("No key is blocked for exceeding this limit").waitFor();
    expect(faults).toEqual([]);
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
    await untilCount(page.getByRole("heading", { name: "Controls" }), 0);
    await page.getByRole("link", { name: "All rules" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules", exact: true }).waitFor();
    await page.getByText("5 per minute, by address").waitFor();
    await untilCount(page.getByRole("link", { name: "Edit rules" }), 0);
    await untilCount(page.getByRole("button", { name: "Kill switch" }), 0);
    await page.goto(`${url}rules/history/1`);
    await page.getByText("These are the rules in force.").waitFor();
    await page.goto(`${url}rules/edit`);
    await page.getByRole("textbox", { name: "Rules" }).waitFor();
    await untilCount(page.getByRole("button", { name: "Save draft" }), 0);
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});
