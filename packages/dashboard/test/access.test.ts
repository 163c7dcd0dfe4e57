import { type Page, stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { HOSTILE, harmOf, INERT, ON_PHONE, send } from "./hostile.js";
import { untilCount, untilParameter, untilSettled } from "./page-state.js";

afterAll(stopAll);

const RULES = {
  version: 1,
  rules: [
    {
      id: "calls",
      key: "tenant",
      onMissing: "refuse",
      limit: "3/minute",
      tiers: { pro: "50/minute" },
    },
    { id: "by-key", key: "apiKey", onMissing: "skip", limit: "40/minute" },
  ],
};
const CONFIG = { identity: { apiKeys: "control", apiKey: {} } };

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
}

const field = (page: Page, name: string) =>
  page.getByRole("dialog").getByLabel(name, { exact: true });

/** Opens a plan, a tenant and a key of it, and returns the secret that the page shows. */
async function makeKey(page: Page): Promise<string> {
  await page.getByRole("link", { name: "Plans", exact: true }).click();
  await page.getByRole("button", { name: "New plan" }).click();
  await field(page, "Name").fill("pro");
  await field(page, "Tier").fill("pro");
  await press(page, "Save");
  await page.getByRole("link", { name: "Tenants", exact: true }).click();
  await page.getByRole("button", { name: "New tenant" }).click();
  await field(page, "Id").fill("acme");
  await field(page, "Plan").selectOption("pro");
  await field(page, "Time zone").fill("Europe/Paris");
  await press(page, "Save");
  await page.getByRole("cell", { name: "Europe/Paris" }).waitFor();
  await page.getByRole("link", { name: "API keys", exact: true }).click();
  await page.getByRole("button", { name: "New API key" }).click();
  await field(page, "Tenant").fill("acme");
  await field(page, "Name").fill("web");
  await press(page, "Create key");
  await page.getByText("it will not be shown again").waitFor();
  return (await page.getByRole("dialog").locator("code").textContent()) ?? "";
}

describe("the page Access", () => {
  it("makes a plan, a tenant and a key whose secret is shown once, works, and is refused when revoked", async () => {
    const { url, gateway } = await startDashboard({ rules: RULES, config: CONFIG });
    const { page, faults } = await openPage(`${url}access`);
    const secret = await makeKey(page);
    expect(secret).toMatch(/^slk_/);
    expect(await findingsEverywhere(page)).toEqual([]);
    await press(page, "I have copied it");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);
    const statusOf = async (key = secret) =>
      (await fetch(gateway, { headers: { "x-api-key": key } })).status;
    await expect.poll(() => statusOf()).toBe(200);

    // The key leads to how it stands, with the numbers of its plan, and can be blocked by its id.
    await page.getByRole("row", { name: /web/ }).getByRole("link").first().click();
    await page.getByText("API key web of tenant acme").waitFor();
    await page.getByRole("region", { name: "calls" }).getByText("of 50").waitFor();
    const byKey = page.getByRole("region", { name: "by-key" });
    await byKey.getByRole("button", { name: "Block", exact: true }).click();
    await field(page, "Reason").fill("it leaked");
    await press(page, "Block");
    await byKey.getByText("Blocked for").waitFor();
    expect(await statusOf()).toBe(429);
    await byKey.getByRole("button", { name: "Unblock" }).click();
    await field(page, "Reason").fill("it did not");
    await press(page, "Unblock");
    await byKey.getByText("passes").waitFor();
    expect(await statusOf()).toBe(200);

    await page.goto(`${url}access/keys?tenant=acme`);
    await page.getByRole("button", { name: "Rotate key web" }).click();
    await field(page, "The old key").selectOption("Works for 1 hour more");
    await press(page, "Rotate");
    await page.getByText("it will not be shown again").waitFor();
    const rotated = (await page.getByRole("dialog").locator("code").textContent()) ?? "";
    await press(page, "I have copied it");
    await expect.poll(() => statusOf(rotated)).toBe(200);
    expect(await statusOf()).toBe(200);
    const [, id] = secret.split("_");
    await page.getByRole("button", { name: `Revoke key web ${id}` }).click();
    await field(page, "Reason").fill("no longer used");
    await press(page, "Revoke");
    await expect.poll(() => statusOf()).toBe(401);
    expect(await statusOf(rotated)).toBe(200);
    for (const tab of ["Tenants", "Plans", "Overrides", "Blocks", "Access tokens"]) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await page.getByRole("heading", { level: 2, name: tab }).waitFor();
      await untilSettled(page);
      expect([tab, ...(await findingsEverywhere(page))]).toEqual([tab]);
    }
    expect(faults).toEqual([]);
  });

  it("says so if a tenant was changed meanwhile, and shows what it says now", async () => {
    const { url } = await startDashboard();
    const put = (headers: object, body: object) =>
      fetch(new URL("/v1/tenants/acme", url), {
        method: "PUT",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      });
    await put({}, { name: "Acme" });
    const { page, faults } = await openPage(`${url}access/tenants`);
    await page.getByRole("button", { name: "Edit tenant acme" }).click();
    expect((await put({ "if-match": "*" }, { name: "Acme Ltd" })).status).toBe(200);
    await field(page, "Name").fill("Mine");
    await press(page, "Save");
    await page.getByText("Another operator changed this").waitFor();
    await expect.poll(() => field(page, "Name").inputValue()).toBe("Acme Ltd");
    await field(page, "Name").fill("Mine");
    await press(page, "Save");
    await page.getByRole("row", { name: /Mine/ }).waitFor();
    await page.getByRole("button", { name: "Suspend tenant acme" }).click();
    await field(page, "Reason").fill("unpaid");
    await press(page, "Suspend");
    await page.getByText("suspended", { exact: true }).waitFor();
    expect(faults.filter((fault) => !fault.includes("409"))).toEqual([]);
  });

  it("makes a token for a viewer, who sees no acting buttons and is refused by the service", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const { page } = await openPage(`${url}access/tokens`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const logIn = async (secret: string) => {
      await page.getByLabel("Access token", { exact: true }).fill(secret);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    await logIn(token);
    await page.getByRole("button", { name: "New access token" }).click();
    await field(page, "Name").fill("eve");
    await field(page, "Role").selectOption("viewer");
    await field(page, "Expires").selectOption("In 7 days");
    await press(page, "Create token");
    // It says so for two seconds only: the wait starts first.
    const isCopied = page.getByRole("button", { name: "Copied", exact: true }).waitFor();
    await press(page, "Copy");
    await isCopied;
    const secret = String(await page.evaluate("navigator.clipboard.readText()"));
    expect(secret).toMatch(/^slt_/);
    expect(await page.getByRole("dialog").locator("code").textContent()).toBe(secret);
    await press(page, "I have copied it");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(secret);
    await page.getByRole("row", { name: /^eve .*in 7 days/ }).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await logIn(secret);
    await page.getByRole("cell", { name: /^eve/ }).waitFor();
    for (const path of [
      "access/tokens",
      "access/plans",
      "access/keys",
      "access/blocks",
      "key?ip=127.0.0.1",
    ]) {
      await page.goto(url + path);
      await untilSettled(page);
      const names = await page.getByRole("main").getByRole("button").allTextContents();
      expect(
        names.filter((name) => /new|revoke|block|reset|grant|override|edit/i.test(name)),
      ).toEqual([]);
    }
    const refused = await page.evaluate(async () => {
      const session = (await (await fetch("/v1/session")).json()) as { csrfToken: string };
      const response = await fetch("/v1/block", {
        method: "POST",
        headers: { "content-type": "application/json", "x-csrf-token": session.csrfToken },
        body: JSON.stringify({ rule: "login", key: "ip:127.0.0.1", forMs: null }),
      });
      return response.status;
    });
    expect(refused).toBe(403);
  });

  it("shows hostile names and reasons inert", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const ask = (method: string, path: string, body: object) =>
      send(method, new URL(path, url), body, token);
    for (const [at, hostile] of HOSTILE.entries()) {
      // Names for people are short, and have no marks of direction: the service refuses those.
      const name = hostile.replaceAll(/[\n\u202e]/g, "").slice(0, 100);
      const reason = hostile.slice(0, 1_000);
      const id = `t${at}`;
      await ask("PUT", `/v1/tenants/${id}`, { name, attributes: { note: reason }, reason });
      await ask("POST", "/v1/api-keys", { tenant: id, name, reason });
      await ask("POST", "/v1/access-tokens", { name, role: "viewer", reason });
      const subject = `user:${hostile.slice(0, 100)}`;
      await ask("POST", "/v1/blocks", { subjects: [subject], reason });
      await ask("POST", "/v1/overrides", { subject, rule: "login", limit: "7/minute", reason });
    }
    const { page, faults } = await openPage(`${url}access`, ON_PHONE);
    await page.getByLabel("Access token", { exact: true }).fill(token);
    await page.keyboard.press("Enter");
    for (const [tab, others] of [
      ["Tenants", 0],
      ["API keys", 0],
      // The first one.
      ["Access tokens", 1],
      ["Blocks", 0],
      ["Overrides", 0],
    ] as const) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      await page.getByRole("heading", { level: 2, name: tab }).waitFor();
      await untilCount(page.locator("main tbody tr"), HOSTILE.length + others);
      expect([tab, await harmOf(page)]).toEqual([tab, INERT]);
    }
    await page.goto(`${url}access`);
    for (const at of HOSTILE.keys()) {
      await page.getByRole("button", { name: `Edit tenant t${at}` }).click();
      await page.getByRole("dialog").waitFor();
      expect(await harmOf(page)).toEqual(INERT);
      await press(page, "Cancel");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    // The browser itself logs the answer of 401.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  it("finds a tenant by the beginning of its id", async () => {
    const { url } = await startDashboard();
    for (const id of ["acme", "acorn", "zenith"])
      await fetch(new URL(`/v1/tenants/${id}`, url), {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
    const { page, faults } = await openPage(`${url}access`);
    await page.getByRole("link", { name: "zenith" }).waitFor();
    await page.getByLabel("Id begins with").fill("ac");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "zenith" }).waitFor({ state: "detached" });
    // The list is empty while the answer is on its way.
    await page.getByRole("link", { name: "acorn" }).waitFor();
    await untilCount(page.getByRole("row"), 3);
    await untilParameter(page, "prefix", "ac");
    expect(faults).toEqual([]);
  });
});
