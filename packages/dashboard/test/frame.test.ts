import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";

afterAll(stopAll);

describe("the frame of the dashboard", () => {
  it("opens without a login where none is required, and leads to every page", async () => {
    const { url } = await startDashboard();
    const { page, faults } = await openPage(url);
    for (const name of ["Rules", "Key", "Quotas", "Audit", "Access", "Playground", "Live"]) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      // What the page is for can be typed straight away.
      if (name === "Key")
        await page.locator("input:focus").and(page.getByLabel("Address")).waitFor();
    }
    expect(faults).toEqual([]);
  });

  it("says of an address that it does not know, or can't read, that there is no such page", async () => {
    const { url } = await startDashboard();
    for (const path of ["nothing", "rules/%E0", "%E0%A4%A"]) {
      const { page, faults } = await openPage(url + path);
      await page.getByRole("heading", { name: "There is no such page" }).waitFor();
      await page.getByRole("link", { name: "Go to the live page" }).click();
      await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
      expect(faults).toEqual([]);
    }
  });

  it("asks for a token, refuses a wrong one, and goes on with the right one", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByLabel("Access token").fill("slat_wrong");
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByText("This token is not known").waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    await page.getByLabel("Access token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Access token").waitFor();
    expect(withoutRefusals(faults)).toEqual([]);
  });

  it("shows who is logged in, and asks again when the session has ended", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const admin = new URL("/v1/access-tokens", url);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: "ann", role: "viewer" });
    const made = await fetch(admin, { method: "POST", headers, body });
    const { id, secret } = (await made.json()) as { id: string; secret: string };
    const { page, faults } = await openPage(url);
    await page.getByLabel("Access token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("ann viewer").waitFor();
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Rules" }).waitFor();
    expect((await fetch(`${admin}/${id}`, { method: "DELETE", headers })).status).toBe(200);
    await page.reload();
    await page.getByText("Access token").waitFor();
    expect(await page.context().cookies()).not.toContainEqual(
      expect.objectContaining({ value: secret }),
    );
    const stored = await page.evaluate(() =>
      JSON.stringify({ ...localStorage, ...sessionStorage }),
    );
    expect(stored).not.toContain(secret);
    expect(withoutRefusals(faults)).toEqual([]);
  });
});

describe("a session in the dashboard", () => {
  it("is prolonged by the user, and not by a page that asks by itself", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const { page } = await openPage(url);
    await page.clock.install();
    await page.getByLabel("Access token").fill(token);
    await page.keyboard.press("Enter");
    const asksFor = async (path: string, act: () => Promise<void>) => {
      const asked = page.waitForRequest((request) => new URL(request.url()).pathname === path);
      await act();
      return (await asked).headers()["sluice-background"];
    };
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    const rule = page.getByRole("link", { name: "login", exact: true });
    expect(await asksFor("/v1/top", () => rule.click())).toBeUndefined();
    await page.getByRole("heading", { level: 1, name: "login" }).waitFor();
    expect(await asksFor("/v1/top", () => page.clock.runFor(10_000))).toBe("1");
    expect(await asksFor("/v1/session", () => page.clock.runFor(60_000))).toBeUndefined();
    // Nothing was used since.
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    expect(await asksFor("/v1/top", () => page.clock.runFor(61_000))).toBe("1");
    expect(asked).not.toContain("/v1/session");
    const live = page.getByRole("link", { name: "Live", exact: true });
    expect(await asksFor("/v1/live", () => live.click())).toBe("1");
  });
});

describe("a token that expires", () => {
  it("ends the session of a page that is open, which then asks for a login and goes on", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const made = await fetch(new URL("/v1/access-tokens", url), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "ann", role: "viewer", expiresAtMs: Date.now() + 600_000 }),
    });
    const { secret } = (await made.json()) as { secret: string };
    const { page, faults } = await openPage(url);
    await page.getByLabel("Access token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    // The service runs in this process: its clock is ten minutes ahead from here on.
    const { now } = Date;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() + 600_000);
    onTestFinished(() => clock.mockRestore());
    await page.getByText("Your session has ended.").waitFor();
    await page.getByLabel("Access token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("Live", { exact: true }).nth(1).waitFor();
    expect(withoutRefusals(faults)).toEqual([]);
  });
});

/** The browser itself logs answers of 401. */
function withoutRefusals(faults: readonly string[]): string[] {
  return faults.filter((fault) => !fault.includes("401"));
}
