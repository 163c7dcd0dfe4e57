// What callers and operators write does no harm where rules are previewed and listed, a session that ends in the middle of
// an act loses nothing and does nothing twice, and a viewer is offered nothing on any page.

import { stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { HOSTILE, harmOf, INERT, ON_PHONE, send } from "./hostile.js";
import { untilSettled } from "./page-state.js";

afterAll(stopAll);

const rulesWith = (limit: string) => ({
  version: 1,
  rules: [{ id: "each", key: "user", onMissing: "skip", limit }],
});

/** A token of this role, and its secret. */
async function makeToken({ url, token }: TestDashboard, role: string) {
  const made = await send("POST", new URL("/v1/access-tokens", url), { name: "ann", role }, token);
  return made as { readonly id: string; readonly secret: string };
}

describe("hostile strings", () => {
  it("are inert in a preview, on the page of a rule, and as the note of a version", async () => {
    const { url, service } = await startDashboard({
      rules: rulesWith("5/hour"),
      config: { decision: { listen: "127.0.0.1:0" } },
    });
    const decision = service.listeners.find(({ name }) => name === "decision")?.url ?? "";
    for (const user of HOSTILE) {
      const facts = { method: "GET", path: "/", ip: "203.0.113.7", user };
      for (const _ of [1, 2]) await send("POST", `${decision}/v1/check`, { facts });
    }
    const sets = new URL("/v1/rule-sets", url);
    await send("POST", sets, { text: JSON.stringify(rulesWith("1/hour")) });
    const { page, faults } = await openPage(`${url}rules/preview/2`, ON_PHONE);
    page.on("dialog", () => faults.push("a dialog ran"));
    await page.getByText(`${HOSTILE.length} of ${HOSTILE.length} callers would be`).waitFor();
    await page.getByText("user:<script>alert(1)</script>").waitFor();
    expect(await harmOf(page)).toEqual(INERT);
    await page.goto(`${url}rules/each`);
    await page
      .getByRole("link", { name: /user:<script>/ })
      .first()
      .waitFor();
    expect(await harmOf(page)).toEqual(INERT);
    const note = HOSTILE.map((each) => each.slice(0, 200)).join(" ");
    await send("POST", new URL("/v1/rule-sets/2/publish", url), { note });
    for (const path of ["rules/history", "rules/history/2", "audit"]) {
      await page.goto(url + path);
      await page.getByText("<script>alert(1)</script>").first().waitFor();
      expect([path, await harmOf(page)]).toEqual([path, INERT]);
    }
    expect(faults).toEqual([]);
  });
});

describe("a session that ends in the middle of an act", () => {
  it("keeps the dialog and what was typed, and the act is done once after the login", async () => {
    const dashboard = await startDashboard({ needsLogin: true });
    const { url, token } = dashboard;
    const ann = await makeToken(dashboard, "operator");
    const { page, faults } = await openPage(`${url}key?ip=203.0.113.7`);
    const logIn = async (secret: string) => {
      await page.getByLabel("Access token").fill(secret);
      await page.keyboard.press("Enter");
    };
    await logIn(ann.secret);
    const everything = page.getByRole("region", { name: "everything" });
    await everything.getByRole("button", { name: "Block", exact: true }).click();
    const dialog = page.getByRole("dialog").filter({ hasText: "Reason" });
    await dialog.getByLabel("Reason").fill("it scrapes");
    const revoked = await fetch(new URL(`/v1/access-tokens/${ann.id}`, url), {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(revoked.status).toBe(200);
    await dialog.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("Your session has ended.").waitFor();
    await logIn((await makeToken(dashboard, "operator")).secret);
    await expect.poll(() => dialog.getByLabel("Reason").inputValue()).toBe("it scrapes");
    await dialog.getByRole("button", { name: "Block", exact: true }).click();
    await everything.getByText("Blocked").waitFor();
    const audit = await fetch(new URL("/v1/audit?kind=counter", url), {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await audit.json()).toMatchObject({
      items: [{ action: "block", reason: "it scrapes" }],
    });
    // The browser itself logs answers of 401.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});

describe("a viewer", () => {
  it("is offered nothing that changes something, on any page", async () => {
    const dashboard = await startDashboard({ needsLogin: true });
    const { url } = dashboard;
    const { secret } = await makeToken(dashboard, "viewer");
    const { page, faults } = await openPage(url);
    await page.getByLabel("Access token").fill(secret);
    await page.keyboard.press("Enter");
    await page.getByText("ann viewer").waitFor();
    for (const path of [
      "",
      "rules",
      "rules/login",
      "rules/edit",
      "rules/history/1",
      "key?ip=127.0.0.1",
      "quotas",
      "access",
      "access/plans",
      "access/keys",
      "access/overrides",
      "access/blocks",
      "access/tokens",
    ]) {
      await page.goto(url + path);
      await untilSettled(page);
      const names = await page.getByRole("main").getByRole("button").allTextContents();
      const acting =
        /new|revoke|block|reset|refund|override|edit|remove|save|publish|roll back|switch|deny|top up|adjust|share/i;
      expect([path, ...names.filter((name) => acting.test(name))]).toEqual([path]);
    }
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});
