import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { openPage, startDashboard } from "./dashboard-fixture.js";

afterAll(stopAll);

describe("the frame of the dashboard", () => {
  it("opens without a login where none is required, and leads to every page", async () => {
    const { url } = await startDashboard();
    const { page, faults } = await openPage(url);
    for (const name of ["Rules", "Key", "Quotas", "Audit", "Access", "Playground", "Live"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
    }
    expect(faults).toEqual([]);
  });

  it("asks for a token, refuses a wrong one, and goes on with the right one", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByLabel("Access token").fill("slat_wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("This token is not known").waitFor();
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Access token").waitFor();
    // The browser itself logs answers of 401.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});
