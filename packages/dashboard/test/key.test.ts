import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard, type WatchedPage } from "./dashboard-fixture.js";
import { HOSTILE, harmOf, INERT, send } from "./hostile.js";
import { untilParameter } from "./page-state.js";

afterAll(stopAll);

const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login", methods: "POST" }, key: "ip", limit: "5/minute" },
    {
      id: "everything",
      key: "ip",
      limit: { tokenBucket: { capacity: 20, refillPerSecond: 0.0001 } },
    },
    { id: "users", match: { path: "/api/*" }, key: "user", onMissing: "skip", limit: "100/minute" },
    { id: "tenants", match: { path: "/t/*" }, key: "tenant", onMissing: "skip", limit: "50/hour" },
  ],
};

async function confirm(page: WatchedPage["page"], verb: string, reason: string): Promise<void> {
  await page.getByRole("dialog").getByLabel("Reason").fill(reason);
  await page.getByRole("dialog").getByRole("button", { name: verb, exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

describe("the page Key", () => {
  it("shows how a caller stands, and blocks, unblocks, refunds and resets, all of it audited", async () => {
    const { url, gateway } = await startDashboard({ rules: RULES });
    const statusOf = async () => (await fetch(`${gateway}/`)).status;
    for (const _ of [1, 2, 3, 4]) expect(await statusOf()).toBe(200);
    const { page, faults } = await openPage(`${url}key`);
    await page.getByLabel("Address", { exact: true }).fill("127.0.0.1");
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByText("would be allowed now").waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe("?ip=127.0.0.1");
    const everything = page.getByRole("region", { name: "everything" });
    await everything.getByText("4 of 20").waitFor();
    // One unit comes back every 10,000 seconds.
    const back = everything.getByText(/· all back in 11(\.\d)? h$/);
    expect(await back.locator("time").getAttribute("title")).toMatch(/\d\d:\d\d:\d\d/);
    // A rule that is about other requests is shown with its counter too, and leads to a request that it is about.
    const login = page.getByRole("region", { name: "login" });
    await login.getByText("0 of 5").waitFor();
    await login.getByRole("button", { name: "Explain POST /login instead" }).click();
    await login.getByText("passes").waitFor();
    await untilParameter(page, "path", "/login");

    await everything.getByRole("button", { name: "Refund" }).click();
    await page.getByLabel("Units", { exact: true }).fill("3");
    await confirm(page, "Refund", "a refund");
    await everything.getByText("1 of 20").waitFor();

    await everything.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByLabel("For", { exact: true }).selectOption("1 day");
    await confirm(page, "Block", "it scrapes");
    await page.getByText("Its key is blocked under rule everything").waitFor();
    await everything.getByText("Blocked for 24 h more").waitFor();
    expect(await statusOf()).toBe(429);
    const history = page.getByRole("table").filter({ hasText: "Outcome" });
    await history.getByRole("row", { name: /refused GET \/ everything blocked/ }).waitFor();
    await everything.getByText("Why?").click();
    expect(await findingsEverywhere(page)).toEqual([]);
    await everything.getByRole("button", { name: "Unblock" }).click();
    expect(await findingsEverywhere(page)).toEqual([]);
    await confirm(page, "Unblock", "it stopped");
    await page.getByText("would be allowed now").waitFor();
    expect(await statusOf()).toBe(200);

    await everything.getByRole("button", { name: "Reset" }).click();
    await confirm(page, "Reset", "a clean start");
    await everything.getByText("0 of 20").waitFor();

    await page.getByRole("button", { name: "Block everywhere" }).click();
    await confirm(page, "Block", "an attack");
    await page.getByText("An operator has blocked ip:127.0.0.1: an attack").waitFor();
    expect(await statusOf()).toBe(429);
    await page.getByRole("button", { name: "Remove" }).click();
    await confirm(page, "Remove", "it is over");
    await page.getByText("would be allowed now").waitFor();

    const { items } = (await (await fetch(new URL("/v1/audit", url))).json()) as {
      items: { action: string; reason: string }[];
    };
    expect(items.slice(0, 6).map(({ action, reason }) => `${action}: ${reason}`)).toEqual([
      "remove: it is over",
      "create: an attack",
      "reset: a clean start",
      "unblock: it stopped",
      "block: it scrapes",
      "refund: a refund",
    ]);
    expect(faults).toEqual([]);
  });

  it("gives a user other limits until a day and shows them, and looks up a tenant", async () => {
    const { url } = await startDashboard({ rules: RULES });
    const { page, faults } = await openPage(`${url}key?user=42&path=/api/x`);
    const users = page.getByRole("region", { name: "users" });
    await users.getByText("0 of 100").waitFor();
    await users.getByRole("button", { name: "Override" }).click();
    await page.getByLabel("Limit", { exact: true }).fill("7/minute");
    await confirm(page, "Override", "a trial");
    await users.getByText("0 of 7").waitFor();
    await users.getByText("Why?").click();
    await users.getByText("override for user 42").waitFor();
    await page.getByText("7/minute under users").waitFor();
    // A tenant is looked up by the same form.
    await page.getByLabel("Look up", { exact: true }).selectOption("Tenant");
    await page.getByLabel("Tenant", { exact: true }).fill("acme");
    await page.getByLabel("Path", { exact: true }).fill("/t/x");
    await page.getByRole("button", { name: "Look up" }).click();
    const tenants = page.getByRole("region", { name: "tenants" });
    await tenants.getByText("counted as tenant:acme").waitFor();
    await tenants.getByText("0 of 50").waitFor();
    await page.getByText("tenant:acme is not blocked by itself").waitFor();
    await untilParameter(page, "tenant", "acme");
    // Without a request, one that is counted by tenant is explained, and by the rules that count a tenant.
    await page.goto(`${url}key?tenant=acme`);
    const verdict = page.getByRole("region", { name: "What would happen now" });
    await verdict.getByText("GET /t/* would be allowed now").waitFor();
    await verdict.getByText(/Left out.+ everything \(by address\)\./).waitFor();
    const everything = page.getByRole("region", { name: "everything" });
    await everything.getByText("It counts by address, which this look-up does not have.").waitFor();
    expect(faults).toEqual([]);
  });

  it("looks up an API key by itself, which stays out of the address, or by its id", async () => {
    const rules = {
      version: 1,
      rules: [{ id: "keys", key: "apiKey", onMissing: "skip", limit: "30/hour" }],
    };
    const identity = { apiKeys: "control", apiKey: {} };
    const { url, gateway } = await startDashboard({ rules, config: { identity } });
    await send("PUT", new URL("/v1/tenants/acme", url), {});
    const key = { tenant: "acme", name: "web" };
    const made = await send("POST", new URL("/v1/api-keys", url), key);
    const { id, secret } = made as { id: string; secret: string };
    const headers = { "x-api-key": secret };
    await expect.poll(async () => (await fetch(gateway, { headers })).status).toBe(200);
    const { page, faults } = await openPage(`${url}key`);
    const lookUp = async (value: string) => {
      await page.getByLabel("Look up", { exact: true }).selectOption("API key");
      await page.getByLabel("API key", { exact: true }).fill(value);
      await page.getByRole("button", { name: "Look up" }).click();
    };
    const rule = page.getByRole("region", { name: "keys" });
    await lookUp(secret);
    await page.getByText("API key web of tenant acme").waitFor();
    await rule.getByText("1 of 30").waitFor();
    await untilParameter(page, "apiKey", id);
    await expect.poll(() => page.getByLabel("API key", { exact: true }).inputValue()).toBe(id);
    expect(await page.content()).not.toContain(secret);
    await page.goto(`${url}key`);
    await lookUp(id);
    await rule.getByText("1 of 30").waitFor();
    await lookUp("0".repeat(12));
    await page.getByText(/There is no (such )?API key/i).waitFor();
    // The browser itself logs that there is no such key.
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });

  it("looks up an API key of another system by its hash", async () => {
    const rules = {
      version: 1,
      rules: [{ id: "keys", key: "apiKey", onMissing: "skip", limit: "30/hour" }],
    };
    const { url, gateway } = await startDashboard({ rules, config: { identity: { apiKey: {} } } });
    const secret = "a-key-of-another-system";
    expect((await fetch(gateway, { headers: { "x-api-key": secret } })).status).toBe(200);
    const { page, faults } = await openPage(`${url}key`);
    await page.getByLabel("Look up", { exact: true }).selectOption("API key");
    await page.getByLabel("API key", { exact: true }).fill(secret);
    await page.getByRole("button", { name: "Look up" }).click();
    await page.getByRole("region", { name: "keys" }).getByText("1 of 30").waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get("apiKey")).toMatch(/^[\w-]{22}$/);
    expect(await page.content()).not.toContain(secret);
    expect(faults).toEqual([]);
  });

  it("shows hostile keys inert, and so do Live, Rules and Audit when they send requests", async () => {
    const each = { id: "each", key: "user", onMissing: "skip", limit: "1/hour" };
    const { url, service } = await startDashboard({
      rules: { version: 1, rules: [...RULES.rules, each] },
      config: { decision: { listen: "127.0.0.1:0" } },
    });
    const { page, faults } = await openPage(`${url}key`);
    page.on("dialog", () => faults.push("a dialog ran"));
    for (const value of HOSTILE) {
      await page.goto(
        `${url}key?user=${encodeURIComponent(value)}&path=${encodeURIComponent(`/${value.slice(0, 99)}`)}`,
      );
      await page.getByText(/would be (allowed|refused) now/).waitFor();
      expect(await harmOf(page)).toEqual(INERT);
    }
    const decision = service.listeners.find(({ name }) => name === "decision")?.url ?? "";
    for (const user of HOSTILE) {
      const facts = { method: "GET", path: `/${user.slice(0, 99)}`, ip: "203.0.113.7", user };
      for (const allowed of [true, false])
        expect(await send("POST", `${decision}/v1/check`, { facts })).toMatchObject({ allowed });
      // As it is written, not as it is counted: every character of it is in the audit log.
      const block = { rule: "each", key: `user:${user}`, forMs: 1, reason: "<b>hostile</b>" };
      expect(await send("POST", new URL("/v1/block", url), block)).toMatchObject({ blocked: true });
    }
    for (const path of ["", "rules/each", "audit"]) {
      await page.goto(url + path);
      await page.getByText("user:<script>alert(1)</script>").first().waitFor();
      if (path === "") await page.getByText("over the limit of").first().waitFor();
      expect([path, await harmOf(page)]).toEqual([path, INERT]);
    }
    await page.getByText("user:a\\u{202E}gnp.exe").waitFor();
    await page.goto(`${url}key?rule=everything&key=${encodeURIComponent("hmac:0123456789abcdef")}`);
    await page.getByText("This is only a hash of a key").waitFor();
    expect(faults).toEqual([]);
  });
});
