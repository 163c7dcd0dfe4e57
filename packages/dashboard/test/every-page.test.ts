// What holds on every page: no serious or critical finding of axe-core in light and dark, nothing wider than a phone, no
// fault, and everything reachable by keyboard alone.

import { type Locator, type Page, stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findingsOf } from "./axe.js";
import { openPage, startDashboard, type TestDashboard } from "./dashboard-fixture.js";
import { pressUntil } from "./keyboard.js";
import { untilSettled } from "./page-state.js";

const PATHS = [
  "",
  "rules",
  "rules/login",
  "rules/edit",
  "rules/history",
  "rules/history/1",
  "key",
  "key?ip=127.0.0.1",
  "quotas",
  "audit",
  "access",
  "access/keys",
  "playground",
];
const PHONE = { width: 390, height: 844 };
const DRAFT = `version: 1
rules:
  - id: login
    match: { path: /login, methods: POST }
    key: ip
    limit: 3/minute
`;

let dashboard: TestDashboard;
beforeAll(async () => {
  dashboard = await startDashboard();
  for (let i = 0; i < 30; i++) await fetch(`${dashboard.gateway}/x`);
});
afterAll(stopAll);

describe("every page", () => {
  it.each(PATHS)("/dashboard/%s fits light, dark and a phone, without a fault", async (path) => {
    const { page, context, faults } = await openPage(dashboard.url + path);
    await untilSettled(page);
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await findingsOf(page), colorScheme).toEqual([]);
    }
    // Not before the first second of the stream has come.
    if (path === "") await page.getByText("answers").waitFor();
    expect(await shiftsOf(page)).toBeLessThan(0.1);
    await page.setViewportSize(PHONE);
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
    expect(faults).toEqual([]);
    await context.close();
  });

  it.each(["", "rules/login"])(
    "/dashboard/%s fits a phone before its charts are redrawn",
    async (path) => {
      const { page, context } = await openPage("about:blank");
      await page.addInitScript(() => {
        // After the window has been made narrow, the page is painted before its resize observers run.
        window.ResizeObserver = class {
          observe(): void {}
          unobserve(): void {}
          disconnect(): void {}
        };
      });
      await page.goto(dashboard.url + path);
      await untilSettled(page);
      await page.setViewportSize(PHONE);
      expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width);
      await context.close();
    },
  );
});

describe("by keyboard alone", () => {
  it("leads from the first Tab to the content, to every page, and to the block of a key", async () => {
    const { page, context, faults } = await openPage(dashboard.url);
    await page.getByRole("heading", { level: 1, name: "Live" }).waitFor();
    await page.keyboard.press("Tab");
    await page.locator("a:focus").getByText("Skip to the content").waitFor();
    const navigation = page.getByRole("navigation", { name: "Pages" });
    const open = async (name: string, key?: string) => {
      await pressUntil(page, navigation.getByRole("link", { name }), key);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name }).waitFor();
    };
    for (const name of ["Rules", "Key", "Quotas", "Audit", "Access", "Playground"])
      await open(name);
    await open("Key", "Shift+Tab");
    await pressUntil(page, page.getByLabel("Address", { exact: true }));
    await page.keyboard.type("127.0.0.1");
    await page.keyboard.press("Enter");
    await page.getByText(/would be (allowed|refused) now/).waitFor();
    const everything = page.getByRole("region", { name: "everything" });
    await pressUntil(page, everything.getByRole("button", { name: "Block", exact: true }));
    await page.keyboard.press("Enter");
    await pressUntil(page, page.getByRole("dialog").getByLabel("Reason"));
    await page.keyboard.type("it scrapes");
    await page.keyboard.press("Enter");
    await page.getByText("Its key is blocked under rule everything").waitFor();
    expect((await fetch(dashboard.gateway)).status).toBe(429);
    expect(faults).toEqual([]);
    await context.close();
  });

  it("edits, previews and publishes rules", async () => {
    const { page, context, faults } = await openPage(`${dashboard.url}rules`);
    const enter = async (target: Locator) => {
      await pressUntil(page, target);
      await page.keyboard.press("Enter");
    };
    await enter(page.getByRole("link", { name: "Edit rules" }));
    await page.getByText("As published.").waitFor();
    await pressUntil(page, page.getByRole("textbox", { name: "Rules" }));
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(DRAFT);
    await page.getByText("No problems found.").waitFor();
    // The first one closes the list of completions, if it is open.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await enter(page.getByRole("button", { name: "Preview" }));
    await page.getByRole("list", { name: "Changes" }).waitFor();
    await enter(page.getByRole("button", { name: "Publish…" }));
    const dialog = page.getByRole("dialog");
    await pressUntil(page, dialog.getByLabel("Note", { exact: true }));
    await page.keyboard.type("by keyboard");
    await enter(dialog.getByRole("button", { name: "Publish" }));
    await page.getByRole("heading", { level: 2, name: "by keyboard" }).waitFor();
    const published = await fetch(new URL("/v1/rule-sets/2", dashboard.url));
    expect(await published.json()).toMatchObject({ status: "published", text: DRAFT });
    expect(faults).toEqual([]);
    await context.close();
  });
});

function widthOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth);
}

/** How much moved on the page since it was opened, though the user did nothing: 0.1 is the bound of a good page. */
function shiftsOf(page: Page): Promise<number> {
  return page.evaluate(() => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type: "layout-shift", buffered: true });
    const shifts = observer.takeRecords() as unknown as LayoutShift[];
    observer.disconnect();
    return shifts
      .filter(({ hadRecentInput }) => !hadRecentInput)
      .reduce((sum, { value }) => sum + value, 0);
  });
}

interface LayoutShift {
  readonly value: number;
  readonly hadRecentInput: boolean;
}
