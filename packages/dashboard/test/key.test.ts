import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard, type WatchedPage } from "./dashboard-fixture.js";

afterAll(stopAll);

const RULES = {
  version: 1,
  rules: [
    { id: "login", match: { path: "/login", methods: "POST" }, key: "ip", limit: "5/minute" },
    {
      id: "everything",
      key: "ip",
      limit: { tokenBucket: { capacity: 20, refillPerSecond: 0.01 } },
    },
    { id: "users", match: { path: "/api/*" }, key: "user", onMissing: "skip", limit: "100/minute" },
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
    expect(new URL(page.url()).search).toBe("?ip=127.0.0.1");
    const everything = page.getByRole("region", { name: "everything" });
    await everything.getByText("4 of 20").waitFor();
    // A rule that is about other requests is shown with its counter too, and leads to a request that it is about.
    const login = page.getByRole("region", { name: "login" });
    await login.getByText("0 of 5").waitFor();
    await login.getByRole("button", { name: "Explain POST /login instead" }).click();
    await login.getByText("passes").waitFor();
    expect(new URL(page.url()).searchParams.get("path")).toBe("/login");

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

  it("gives a user other limits until a day, and shows them", async () => {
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
    expect(faults).toEqual([]);
  });

  it("shows hostile keys inert", async () => {
    const { url } = await startDashboard({ rules: RULES });
    const long = "k".repeat(4_096);
    const hostile = [
      "<script>alert(1)</script>",
      "a\u202Egnp.exe",
      long,
      "😀\n<img src=x onerror=alert(1)>",
    ];
    const { page, faults } = await openPage(`${url}key`);
    page.on("dialog", () => faults.push("a dialog ran"));
    for (const value of hostile) {
      await page.goto(
        `${url}key?user=${encodeURIComponent(value)}&path=${encodeURIComponent(`/${value.slice(0, 99)}`)}`,
      );
      await page.getByText(/would be (allowed|refused) now/).waitFor();
      const inert = await page.evaluate(() => ({
        markup: document.querySelectorAll("main script, main img").length,
        unseen: document.querySelector("main")?.innerText.includes("\u202e"),
        width: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      }));
      expect(inert).toEqual({ markup: 0, unseen: false, width: 0 });
    }
    await page.goto(`${url}key?rule=everything&key=${encodeURIComponent("hmac:0123456789abcdef")}`);
    await page.getByText("This is only a hash of a key").waitFor();
    expect(faults).toEqual([]);
  });
});
