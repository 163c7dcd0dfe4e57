import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { untilCount } from "./page-state.js";

afterAll(stopAll);

describe("the page Audit", () => {
  it("lists what was changed with what it said before and after, filters by URL, and verifies the chain", async () => {
    const { url } = await startDashboard();
    const put = async (tenant: string, body: object, headers: object = {}) => {
      const response = await fetch(new URL(`/v1/tenants/${tenant}`, url), {
        method: "PUT",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(200);
    };
    for (let i = 0; i < 60; i++) await put(`t${i}`, {});
    await put("acme", { timeZone: "UTC", reason: "a customer" });
    const reason = "moved to <b>Paris</b>";
    await put("acme", { timeZone: "Europe/Paris", reason }, { "if-match": "*" });
    const { page, faults } = await openPage(`${url}audit`);
    const entries = page.getByRole("listitem");
    await entries.first().getByText(reason).click();
    const zone = entries.first().getByRole("row", { name: /timeZone/ });
    await zone.getByText("Europe/Paris").waitFor();
    await expect
      .poll(() => zone.getByRole("cell").allTextContents())
      .toEqual(["UTC", "Europe/Paris"]);
    await untilCount(entries, 50);
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText("t0", { exact: true }).waitFor();
    await page.goBack();
    await page.getByText(reason).waitFor();

    await page.getByLabel("To what").selectOption("tenant");
    await page.getByLabel("Id", { exact: true }).fill("acme");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.waitForURL(/kind=tenant&id=acme/);
    await untilCount(entries, 2);
    await page.getByRole("button", { name: "Verify the chain" }).click();
    await page.getByText(/The chain is intact: \d+ entries were checked/).waitFor();
    await page.getByText(reason).click();
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.goto(`${url}audit?to=2001-01-01`);
    await page.getByText("There is no such entry").waitFor();
    expect(faults).toEqual([]);
  });
});
