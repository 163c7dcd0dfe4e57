// Every page on a service without a control plane, and on one that follows the control plane of another node: what can't
// be shown there is explained, what can't be done is left out, and nothing fails.

import { join } from "node:path";
import { memoryStore } from "sluice";
import { createPolicy, parseRules } from "sluice/rules";
import { makeFolder, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf } from "./axe.js";
import {
  RULES as COMMON,
  openPage,
  startDashboard,
  type TestDashboard,
  type WatchedPage,
} from "./dashboard-fixture.js";
import { processorMs, withLongestPause } from "./longest-pause.js";
import { untilCount, untilSettled } from "./page-state.js";

afterAll(stopAll);

const USERS = { id: "users", key: "user", onMissing: "skip", limit: "100/minute" };
const RULES = { version: 1, rules: [...COMMON.rules, USERS] };

/** Pages, and whether they need a control plane. */
const PAGES = [
  ["", false],
  ["rules", false],
  ["rules/login", false],
  ["rules/edit", true],
  ["rules/edit/1", true],
  ["rules/history", true],
  ["rules/history/1", true],
  ["rules/preview/1", true],
  ["key?user=42", false],
  ["quotas", true],
  ["quotas/acme", true],
  ["audit", true],
  ["access", true],
  ["access/keys", true],
  ["playground", false],
] as const;

async function startAlone(): Promise<TestDashboard> {
  return startDashboard({ rules: RULES, config: { control: undefined } });
}

async function startFollower(): Promise<TestDashboard> {
  const control = await startDashboard({ rules: RULES, needsLogin: true });
  const made = await fetch(new URL("/v1/access-tokens", control.url), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${control.token}` },
    body: JSON.stringify({ name: "edge", role: "node" }),
  });
  const { secret } = (await made.json()) as { secret: string };
  const snapshot = join(makeFolder("follower"), "sluice.snapshot");
  const follow = new URL(control.url).origin;
  const config = { control: { follow, token: secret, snapshot }, rules: undefined };
  return { ...(await startDashboard({ config })), token: control.token };
}

/** Opens a page; a follower knows the tokens of its control plane, and wants one. */
async function openLoggedIn({ url, token }: TestDashboard, path: string): Promise<WatchedPage> {
  const watched = await openPage(url + path);
  if (token === "") return watched;
  await watched.page.getByLabel("Access token").fill(token);
  await watched.page.keyboard.press("Enter");
  await watched.page.getByRole("button", { name: "Log out" }).waitFor();
  // The browser itself logs the answer of 401 that led to the login.
  watched.faults.length = 0;
  return watched;
}

describe.each([
  ["without a control plane", startAlone, "There is no control plane"],
  ["on a follower", startFollower, "This node follows a control plane"],
])("a page %s", (_, start, explanation) => {
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await start();
  });

  it("shows what it can, and explains what it can't", async () => {
    const { page, context, faults } = await openLoggedIn(dashboard, "access");
    for (const [path, needsControlPlane] of PAGES) {
      await page.goto(dashboard.url + path);
      await untilSettled(page);
      const isExplained = async () =>
        (await page.getByRole("heading", { name: explanation }).count()) > 0;
      await expect.poll(isExplained, { message: path }).toBe(needsControlPlane);
      expect([path, ...faults]).toEqual([path]);
    }
    await page.goto(`${dashboard.url}rules/edit`);
    await page.getByRole("heading", { name: explanation }).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await context.close();
  });

  it("offers nothing that it can't do", async () => {
    const { page, context, faults } = await openLoggedIn(dashboard, "rules");
    await page.getByText("5 per minute, by address").waitFor();
    await untilCount(page.getByRole("link", { name: "Edit rules" }), 0);
    // The switch of all rules of a follower is at its control plane.
    const isAlone = dashboard.token === "";
    await untilCount(page.getByRole("button", { name: "Kill switch" }), isAlone ? 1 : 0);
    await page.goto(`${dashboard.url}key?user=42`);
    const users = page.getByRole("region", { name: "users" });
    await users.getByRole("button", { name: "Refund" }).waitFor();
    for (const name of ["Override", "Block everywhere"])
      await untilCount(page.getByRole("button", { name }), 0);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("the kill switch without a control plane", () => {
  it("switches all rules of the node off, and on again", async () => {
    const rules = { version: 1, rules: [{ id: "few", key: "ip", limit: "1/hour" }] };
    const { url, gateway } = await startDashboard({ rules, config: { control: undefined } });
    const statusOf = async () => (await fetch(gateway)).status;
    expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
    const { page, context, faults } = await openPage(`${url}rules`);
    const dialog = page.getByRole("dialog");
    for (const [opener, verb, status] of [
      ["Kill switch", "Switch all off", 200],
      ["Switch all on", "Switch all on", 429],
    ] as const) {
      await page.getByRole("button", { name: opener }).click();
      await dialog.getByLabel("Reason").fill("a test");
      await dialog.getByRole("button", { name: verb }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await statusOf()).toBe(status);
    }
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("a service without a control plane", () => {
  it("decides requests while it checks and previews 10,000 rules", async () => {
    const rulesWith = (limit: string) => ({
      version: 1,
      rules: Array.from({ length: 10_000 }, (_, i) => ({
        id: `rule-${i}`,
        match: { path: `/path/${i}` },
        key: "ip",
        limit,
      })),
    });
    const rules = rulesWith("5/minute");
    const parsed = parseRules(rules);
    const { url, gateway } = await startDashboard({ rules, config: { control: undefined } });
    for (let i = 0; i < 3; i++) expect((await fetch(`${gateway}/path/7`)).status).toBe(200);
    const body = JSON.stringify({ text: JSON.stringify(rulesWith("2/minute")) });
    const ask = async (verb: string) => {
      const answer = await fetch(new URL(`/v1/rule-sets/${verb}`, url), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
      });
      return (await answer.json()) as object;
    };
    const checked = await withLongestPause(() => ask("validate"));
    expect(checked.result).toMatchObject({ problems: [] });
    const previewed = await withLongestPause(() => ask("preview"));
    expect(previewed.result).toMatchObject({ requests: { total: 3, newlyRefused: 1 } });
    // Compared with this machine: a preview compiles both the draft and the rules in force.
    const startMs = processorMs();
    await createPolicy({ rules: parsed, store: memoryStore() }).close();
    const compileMs = processorMs() - startMs;
    expect(Math.max(checked.pauseMs, previewed.pauseMs)).toBeLessThan(compileMs * 0.6);
  });
});
