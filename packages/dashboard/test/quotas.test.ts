import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { HOSTILE, harmOf, INERT, ON_PHONE, send } from "./hostile.js";
import { untilCount, untilSettled } from "./page-state.js";

afterAll(stopAll);

const RULES = {
  version: 1,
  rules: [
    {
      id: "exports",
      key: "tenant",
      onMissing: "refuse",
      limit: { quota: { limit: 40, period: "month" } },
      durable: true,
    },
  ],
};

describe("the page Quotas", () => {
  it("shows what tenants used and where that leads, tops up once however often it is clicked, and exports the ledger", async () => {
    const { url, gateway } = await startDashboard({
      rules: RULES,
      config: { identity: { apiKeys: "control", apiKey: {} } },
    });
    const ask = async (method: string, path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(new URL(path, url), {
        method,
        headers,
        body: JSON.stringify(body),
      });
      expect(response.ok).toBe(true);
      return (await response.json()) as { secret: string };
    };
    for (const [tenant, uses] of [
      ["acme", 30],
      ["globex", 4],
    ] as const) {
      await ask("PUT", `/v1/tenants/${tenant}`, {});
      const { secret } = await ask("POST", "/v1/api-keys", { tenant, name: "web" });
      const statusOf = async () =>
        (await fetch(gateway, { headers: { "x-api-key": secret } })).status;
      await expect.poll(statusOf).toBe(200);
      for (let i = 1; i < uses; i++) expect(await statusOf()).toBe(200);
    }

    const { page, faults } = await openPage(`${url}quotas`);
    await page.getByText("30 of 40").waitFor();
    const rows = page.getByRole("row");
    await expect.poll(() => rows.nth(1).textContent()).toContain("acme");
    await expect.poll(() => rows.nth(2).textContent()).toContain("globex");
    await page.getByLabel("Tenant begins with").fill("ac");
    await page.getByRole("button", { name: "Show" }).click();
    await untilCount(page.locator("main tbody tr"), 1);
    await page.getByRole("link", { name: "acme" }).click();

    const exports = page.getByRole("region", { name: "exports" });
    await exports.getByText("10 units", { exact: true }).waitFor();
    await exports.getByText(/It (runs out|lasts)/).waitFor();
    await exports.getByRole("figure").locator("canvas").waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    await exports.getByRole("button", { name: "Top up" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Units", { exact: true }).fill("25");
    await dialog.getByLabel("Reason").fill("they paid");
    // The answer waits for the second click.
    let answer = () => {};
    const isClickedTwice = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route("**/grants", async (route) => {
      await isClickedTwice;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Top up", exact: true }).dblclick();
    answer();
    await exports.getByText("35 units", { exact: true }).waitFor();
    await exports.getByText("40 units and 25 on top").waitFor();
    await exports.getByRole("button", { name: "Adjust" }).click();
    await dialog.getByLabel("Units", { exact: true }).fill("-5");
    await dialog.getByLabel("Reason").fill("a mistake");
    await dialog.getByRole("button", { name: "Adjust", exact: true }).click();
    await exports.getByText("30 units", { exact: true }).waitFor();

    const ledger = page.getByRole("region", { name: "Ledger" });
    await ledger.getByLabel("Kind").selectOption("grant");
    await ledger.getByRole("button", { name: "Show" }).click();
    await ledger.getByRole("row", { name: /\+25.*they paid/ }).waitFor();
    // The row was there before too: only the address says that the filter is on.
    const hrefOf = () => ledger.getByRole("link", { name: "Export as CSV" }).getAttribute("href");
    await expect.poll(hrefOf).toContain("kind=grant");
    const csv = await (await fetch(new URL((await hrefOf()) ?? "", url))).text();
    expect(csv).toContain("they paid");
    expect(csv).not.toContain(",use,");

    const audit = (await (await fetch(new URL("/v1/audit?kind=quota", url))).json()) as {
      items: { action: string; reason: string }[];
    };
    expect(audit.items.map(({ action, reason }) => `${action}: ${reason}`)).toEqual([
      "adjust: a mistake",
      "grant: they paid",
    ]);
    expect(faults).toEqual([]);
  });

  it("shows hostile names of tenants inert", async () => {
    const { url, service } = await startDashboard({
      rules: RULES,
      config: { decision: { listen: "127.0.0.1:0" } },
    });
    const decision = service.listeners.find(({ name }) => name === "decision")?.url ?? "";
    const tenants = [...HOSTILE, "long".repeat(25)];
    for (const tenant of tenants) {
      const facts = { method: "GET", path: "/", ip: "203.0.113.7", tenant };
      const check = await send("POST", `${decision}/v1/check`, { facts });
      expect(check).toMatchObject({ allowed: true });
    }
    const { page, faults } = await openPage(`${url}quotas`, ON_PHONE);
    const links = page.locator("main tbody a");
    await untilCount(links, tenants.length);
    expect(await harmOf(page)).toEqual(INERT);
    for (const at of tenants.keys()) {
      await links.nth(at).click();
      await page
        .getByRole("region", { name: "Ledger" })
        .getByRole("row", { name: /use/ })
        .waitFor();
      const name = await page.getByRole("heading", { level: 1 }).textContent();
      expect([name, await harmOf(page)]).toEqual([name, INERT]);
      await page.getByRole("button", { name: "Top up" }).click();
      await page.getByRole("dialog").waitFor();
      expect([name, await harmOf(page)]).toEqual([name, INERT]);
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("link", { name: "All tenants" }).click();
      await untilCount(links, tenants.length);
    }
    // An address can be written by anyone.
    for (const tenant of HOSTILE) {
      await page.goto(`${url}quotas/${encodeURIComponent(tenant.slice(0, 200))}`);
      await untilSettled(page);
      expect([tenant, await harmOf(page)]).toEqual([tenant, INERT]);
    }
    expect(faults).toEqual([]);
  });
});
