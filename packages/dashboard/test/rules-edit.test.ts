// Rules are edited, previewed, published and rolled back in the page, and the gateway follows.

import { type Page, stopAll } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { findingsEverywhere } from "./axe.js";
import { openPage, startDashboard } from "./dashboard-fixture.js";
import { untilCount, untilPainted, untilPath } from "./page-state.js";

afterAll(stopAll);

const DRAFT = `version: 1
rules:
  - id: login # by address
    match: { path: /login, methods: POST }
    key: ip
    limit: 3/minute
`;

async function replaceText(page: Page, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: "Rules" });
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

/** The same, and waits until the service has checked it: the page asks nothing more by itself. */
async function replaceAndCheck(page: Page, text: string): Promise<void> {
  const isChecked = page.waitForResponse(
    (response) =>
      response.url().endsWith("/v1/rule-sets/validate") &&
      response.request().postDataJSON().text === text,
  );
  await replaceText(page, text);
  await isChecked;
}

describe("rules in the dashboard", () => {
  it("are edited, previewed, published, enforced and rolled back", async () => {
    const { url, gateway } = await startDashboard();
    const logIn = async () => (await fetch(`${gateway}/login`, { method: "POST" })).status;
    for (let i = 0; i < 4; i++) expect(await logIn()).toBe(200);
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByRole("link", { name: "Edit rules" }).click();
    // What is wrong is shown at its line, by the schema and by the parser.
    await replaceText(page, DRAFT.replace("limit:", "limt:"));
    await page.getByRole("button", { name: /^Line 6 .*limt/ }).waitFor();
    await page.locator(".cm-lint-marker-error").first().waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    await replaceText(page, DRAFT);
    await page.getByText("No problems found.").waitFor();
    // Completion knows the fields, and the keyboard leaves the editor.
    await page.keyboard.press("Control+End");
    await page.keyboard.type("    onE");
    await page.getByRole("option", { name: "onExceed" }).waitFor();
    await page.keyboard.press("Escape");
    await replaceText(page, DRAFT);
    // The first one closes the list of completions, if it is open.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    await page.waitForFunction("document.activeElement?.shadowRoot === null");
    await page.getByText("No problems found.").waitFor();
    await page.getByRole("button", { name: "Preview" }).click();
    // The preview names who would be refused, before anything is enforced.
    await page.getByText("1 of 1 caller would be refused more often.").waitFor();
    await page.getByRole("link", { name: "ip:127.0.0.1" }).waitFor();
    await page.getByText("changed", { exact: true }).first().waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    expect(await logIn()).toBe(200);
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByLabel("Note", { exact: true }).fill("fewer logins");
    await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 2, name: "fewer logins" }).waitFor();
    expect(await logIn()).toBe(429);
    await page.getByRole("link", { name: "History" }).click();
    await page
      .getByRole("row", { name: /^Version 2 published .+ local fewer logins 1$/ })
      .waitFor();
    await page.getByRole("link", { name: "Version 1", exact: true }).click();
    await page.getByRole("button", { name: "Roll back to it" }).click();
    await page.getByLabel("Reason").fill("too strict");
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByText("These are the rules in force.").waitFor();
    await page.getByRole("heading", { level: 2, name: "back to version 1: too strict" }).waitFor();
    expect(faults).toEqual([]);
  });

  it("show both versions of a draft that was edited meanwhile, and lead a rule to shadow mode and to a share of keys", async () => {
    const { url } = await startDashboard();
    const { page, faults } = await openPage(`${url}rules/login`);
    await page.getByRole("button", { name: "Try as shadow" }).click();
    await page.getByRole("button", { name: "Create draft" }).click();
    await page.getByText("There is no traffic to judge by.").waitFor();
    await page.getByText("onExceed").first().waitFor();
    await page.getByRole("link", { name: "Edit" }).click();
    await replaceText(page, DRAFT);
    const draft = new URL(`/v1/rule-sets/2`, url);
    const theirs = DRAFT.replace("3/minute", "4/minute");
    const put = await fetch(draft, {
      method: "PUT",
      headers: { "Content-Type": "application/json", "If-Match": "*" },
      body: JSON.stringify({ text: theirs }),
    });
    expect(put.status).toBe(200);
    await page.getByRole("button", { name: "Save draft" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4/minute").waitFor();
    await dialog.getByText("3/minute").waitFor();
    await dialog.getByRole("button", { name: "Take theirs" }).click();
    await page.getByText("limit: 4/minute").waitFor();
    await replaceText(page, DRAFT);
    await page.getByText("Not saved yet.").waitFor();
    await page.keyboard.press("Control+S");
    await page.getByText("Saved as a draft.").waitFor();
    expect(((await (await fetch(draft)).json()) as { text: string }).text).toBe(DRAFT);
    // The share of keys is part of the rules too: it is drafted, and published from the preview.
    await page.goto(`${url}rules/login`);
    await page.getByRole("button", { name: "Change the share" }).click();
    await page.getByLabel("Share of keys, in percent").fill("150");
    await dialog.getByText("A number from 0 to 100.").waitFor();
    await dialog.getByRole("button", { name: "Create draft", disabled: true }).waitFor();
    await page.getByLabel("Share of keys, in percent").fill("25");
    await dialog.getByRole("button", { name: "Create draft" }).click();
    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByLabel("Note", { exact: true }).fill("a quarter first");
    await dialog.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("heading", { level: 2, name: "a quarter first" }).waitFor();
    await page.goto(`${url}rules/login`);
    await page.getByText("It holds for 25% of keys.").waitFor();
    // The browser itself logs the answer of 409.
    expect(faults.filter((fault) => !fault.includes("409"))).toEqual([]);
  });

  it("are kept in the editor when the session ends, until the user has logged in again", async () => {
    const { url, token } = await startDashboard({ needsLogin: true });
    const admin = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const tokens = new URL("/v1/access-tokens", url);
    const create = async (name: string, role: string) => {
      const body = JSON.stringify({ name, role });
      const made = await fetch(tokens, { method: "POST", headers: admin, body });
      return (await made.json()) as { id: string; secret: string };
    };
    const revoke = async (id: string) => {
      const { status } = await fetch(`${tokens}/${id}`, { method: "DELETE", headers: admin });
      expect(status).toBe(200);
    };
    const ann = await create("ann", "operator");
    const { page, faults } = await openPage(`${url}rules/edit`);
    const logIn = async (secret: string) => {
      await page.getByLabel("Access token").fill(secret);
      await page.keyboard.press("Enter");
    };
    await logIn(ann.secret);
    await page.getByText("As published.").waitFor();
    await replaceAndCheck(page, DRAFT);
    await page.getByText("No problems found.").waitFor();
    await revoke(ann.id);
    await page.getByRole("button", { name: "Save draft" }).click();
    const login = page.getByRole("dialog", { name: "Log in again" });
    await login.getByText("Your session has ended.").waitFor();
    expect(await findingsEverywhere(page)).toEqual([]);
    // The page below is out of reach, and Escape does not lead to it.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await login.waitFor();
    await login.evaluate((node: HTMLDialogElement) => node.close());
    await login.waitFor();
    await logIn("slat_wrong");
    await login.getByText("This token is not known").waitFor();
    // A dialog that the page opens meanwhile waits, and the login stays above.
    await page.locator("nav a").first().dispatchEvent("click");
    const leave = page.locator("dialog").filter({ hasText: "Leave without saving?" });
    await leave.waitFor({ state: "attached" });
    await untilPainted(page);
    const second = await create("ann", "operator");
    await login.getByLabel("Access token").fill(second.secret);
    await login.getByRole("button", { name: "Log in" }).click();
    await login.waitFor({ state: "detached" });
    await leave.getByRole("button", { name: "Keep editing" }).click();
    await leave.waitFor({ state: "detached" });
    await page.getByText("# by address").waitFor();
    await page.getByText("No problems found.").waitFor();
    await page.getByRole("button", { name: "Save draft" }).click();
    await page.getByText("Saved as a draft.").waitFor();
    const kept = await fetch(new URL("/v1/rule-sets/2", url), { headers: admin });
    expect(await kept.json()).toMatchObject({ text: DRAFT });
    // Another user gets a page of its own, without what the first had typed.
    await replaceAndCheck(page, DRAFT.replace("3/minute", "4/minute"));
    await page.getByText("Not saved yet.").waitFor();
    await revoke(second.id);
    await page.getByRole("button", { name: "Save draft" }).click();
    await logIn((await create("eve", "operator")).secret);
    await page.getByText("eve operator").waitFor();
    await page.getByText("3/minute").waitFor();
    await untilCount(page.getByText("4/minute"), 0);
    // The browser itself logs answers of 401.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  it("are not lost when the user leaves with unsaved changes, unless that is meant", async () => {
    const { url } = await startDashboard();
    const { page, faults } = await openPage(`${url}rules`);
    await page.getByRole("link", { name: "Edit rules" }).click();
    await page.getByText("As published.").waitFor();
    await replaceText(page, DRAFT);
    await page.getByText("Not saved yet.").waitFor();
    const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
    const leaving = [
      () => page.getByRole("link", { name: "Live" }).click(),
      () => page.goBack({ waitUntil: "commit" }),
    ];
    let last: Awaited<ReturnType<typeof dialog.elementHandle>> | undefined;
    for (const leave of leaving) {
      await leave();
      await dialog.waitFor();
      // On a slow machine the last dialog reports that it was closed only now.
      await last?.dispatchEvent("close");
      last = await dialog.elementHandle();
      expect(await findingsEverywhere(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Keep editing" }).click();
      await dialog.waitFor({ state: "detached" });
      await untilPath(page, "/dashboard/rules/edit");
      await page.getByText("# by address").waitFor();
    }
    // Closing the page is the browser's to ask.
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    expect((await asked).type()).toBe("beforeunload");
    await (await asked).dismiss();

    await page.goBack({ waitUntil: "commit" });
    await dialog.getByRole("button", { name: "Discard changes" }).click();
    await page.getByRole("heading", { level: 1, name: "Rules", exact: true }).waitFor();
    await untilPath(page, "/dashboard/rules");
    await page.getByRole("link", { name: "Edit rules" }).click();
    await page.getByText("As published.").waitFor();
    await replaceText(page, DRAFT);
    await page.getByText("Not saved yet.").waitFor();
    await page.getByRole("link", { name: "Live" }).click();
    await dialog.getByRole("button", { name: "Discard changes" }).click();
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    // What is saved is left without a question.
    await page.goto(`${url}rules/edit`);
    await page.getByText("As published.").waitFor();
    await replaceText(page, DRAFT);
    await page.getByText("Not saved yet.").waitFor();
    await page.keyboard.press("Control+S");
    await page.getByText("Saved as a draft.").waitFor();
    await page.getByRole("link", { name: "Live" }).click();
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    expect(faults).toEqual([]);
  });
});
