// With 10,000 rules no page holds the browser up: no task takes 200 ms, from the link that opens a page to its last list.
// The pages that show rates have such a test with traffic, busy.test.ts.

import { type Page, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  openPage,
  startDashboard,
  type TestDashboard,
  type WatchedPage,
} from "./dashboard-fixture.js";
import { longestTaskMs } from "./long-tasks.js";
import { withLongestPause } from "./longest-pause.js";

const TASK_MS_MAX = 200;
/** Of the service. */
const PAUSE_MS_MAX = 200;

/** One rule in five matches every request, so that the page Key has many of both kinds. */
const rulesWith = (limit: string) => ({
  version: 1,
  rules: Array.from({ length: 10_000 }, (_, i) => ({
    id: `rule-${i}`,
    ...(i % 5 === 0 ? {} : { match: { path: `/path/${i}` } }),
    key: "ip",
    limit,
  })),
});

let dashboard: TestDashboard;
let watched: WatchedPage;
let page: Page;
beforeAll(async () => {
  dashboard = await startDashboard({ rules: rulesWith("5/minute") });
  watched = await openPage(`${dashboard.url}playground`);
  ({ page } = watched);
  // Versions 2 and 3: on many lines, which all differ from those before, and on one.
  await saveDraft(JSON.stringify(rulesWith("2/minute"), null, 1));
  await saveDraft(JSON.stringify(rulesWith("3/minute")));
  await page.getByRole("heading", { level: 1 }).waitFor();
});
afterAll(stopAll);

describe("with 10,000 rules", () => {
  it("Key shows those that count a caller, some at a time", async () => {
    const longestMs = await longestTaskMs(async () => {
      await goTo("key?ip=127.0.0.1");
      await page.getByText("2000 rules match this request").waitFor();
      await page.getByRole("button", { name: "Show more: 30 of 2256 rules" }).click();
      await page.getByRole("button", { name: "Show more: 60 of 2256 rules" }).waitFor();
    });
    expect(longestMs).toBeLessThan(TASK_MS_MAX);
  });

  it("Audit shows what changed, some lines at a time", async () => {
    const longestMs = await longestTaskMs(async () => {
      await goTo("audit");
      const draftOf = (version: number) =>
        page.getByRole("listitem").filter({ hasText: new RegExp(`rule-set ${version}`) });
      await draftOf(2).locator("summary").click();
      await draftOf(2)
        .getByRole("button", { name: /Show more lines \(300 of \d\d,\d{3} shown\)/ })
        .click();
      await draftOf(2)
        .getByRole("button", { name: /Show more lines \(600 of/ })
        .waitFor();
      await draftOf(3).locator("summary").click();
      await draftOf(3)
        .getByText(/… \d{6,} more characters …/)
        .waitFor();
    });
    expect(longestMs).toBeLessThan(TASK_MS_MAX);
  });

  it.each([
    ["rules/history/2", "Copy"],
    ["rules/history/3", "Copy"],
    ["rules/preview/2", "Publish…"],
  ])("%s shows a version, and compares it", async (path, button) => {
    const longestMs = await longestTaskMs(async () => {
      await goTo(path);
      await page.getByRole("button", { name: button }).waitFor();
      await page.getByRole("list", { name: "Changes" }).waitFor();
    });
    expect(longestMs).toBeLessThan(TASK_MS_MAX);
  });

  it("the editor checks a draft", async () => {
    const longestMs = await longestTaskMs(async () => {
      await goTo("rules/edit/2");
      await page.getByText("No problems found.").waitFor();
      await page.getByRole("textbox", { name: "Rules" }).click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("no rules:\n");
      await page
        .getByRole("button", { name: /^Line / })
        .first()
        .waitFor();
    });
    expect(longestMs).toBeLessThan(TASK_MS_MAX);
  });

  it("decisions do not wait for a preview", async () => {
    const { url, service } = dashboard;
    const { policy, telemetry } = service.core;
    const facts = { method: "GET", path: "/path/7", ip: "192.0.2.7" };
    for (let i = 0; i < 3; i++)
      telemetry.decided("gateway", await policy.admit(facts), facts, 0.02);
    const body = JSON.stringify({ text: JSON.stringify(rulesWith("2/minute")) });
    const { result, pauseMs } = await withLongestPause(async () => {
      const answer = await fetch(new URL("/v1/rule-sets/preview", url), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
      });
      return (await answer.json()) as object;
    });
    expect(result).toMatchObject({ requests: { total: 3, newlyRefused: 1 } });
    expect(pauseMs).toBeLessThan(PAUSE_MS_MAX);
  });

  it("shows no fault", () => {
    expect(watched.faults).toEqual([]);
  });
});

async function saveDraft(text: string): Promise<void> {
  const { status } = await fetch(new URL("/v1/rule-sets", dashboard.url), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ text }),
  });
  expect(status).toBe(201);
}

/** Follows a link of the page, which stays loaded. */
async function goTo(path: string): Promise<void> {
  await page.evaluate((href) => {
    const link = document.createElement("a");
    link.href = href;
    document.querySelector("main")?.append(link);
    link.click();
    link.remove();
  }, `/dashboard/${path}`);
}
